-- A session in a real Neovim: open a broken workflow, see what is wrong, fix it, complete a contract, rename a variable, format.
-- Takes the Python program, the workflow and the file for the result from the environment.

local result = {}
local path = vim.env.WORKRAIL_FILE

local function finish(problem)
  result.problem = problem
  vim.fn.writefile({ vim.fn.json_encode(result) }, vim.env.WORKRAIL_RESULT)
  vim.cmd("qa!")
end

local function wait(what, holds)
  if not vim.wait(120000, holds, 20) then
    error("never happened: " .. what)
  end
end

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
end

--- Put the cursor on a part of the text, some bytes into it.
local function cursor(needle, inside)
  for number, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    local start = line:find(needle, 1, true)
    if start then
      vim.api.nvim_win_set_cursor(0, { number, start - 1 + inside })
      return
    end
  end
  error("not in the text: " .. needle)
end

local function session()
  vim.cmd("edit " .. vim.fn.fnameescape(path))
  local buffer = vim.api.nvim_get_current_buf()
  local id = vim.lsp.start_client({
    name = "workrail",
    cmd = { vim.env.WORKRAIL_PYTHON, "-m", "workrail_lint", "server" },
    root_dir = vim.fn.getcwd(),
  })
  vim.lsp.buf_attach_client(buffer, id)
  local client = vim.lsp.get_client_by_id(id)

  local function seen(pattern)
    for _, each in ipairs(vim.diagnostic.get(buffer)) do
      if each.message:find(pattern, 1, true) then
        return each
      end
    end
  end

  -- Diagnostics.
  wait("diagnostics", function() return seen("tittle") end)
  local wrong = seen("tittle")
  result.line = wrong.lnum
  result.source = wrong.source

  -- A quick fix, by the client's own machinery for edits.
  vim.api.nvim_win_set_cursor(0, { wrong.lnum + 1, wrong.col })
  local params = vim.lsp.util.make_range_params(0, client.offset_encoding)
  params.context = { diagnostics = vim.lsp.diagnostic.get_line_diagnostics(buffer, wrong.lnum), only = { "quickfix" } }
  local answer = client.request_sync("textDocument/codeAction", params, 60000, buffer)
  for _, action in ipairs(answer.result) do
    if action.title:find("title", 1, true) and action.isPreferred ~= false and not result.fixed then
      vim.lsp.util.apply_workspace_edit(action.edit, client.offset_encoding)
      result.fixed = action.title
    end
  end
  wait("the finding to go", function() return not seen("tittle") end)

  -- Completion of a contract, accepted as the completion menu would.
  cursor('"contractRef": ""', #'"contractRef": "')
  local place = vim.lsp.util.make_position_params(0, client.offset_encoding)
  local listed = client.request_sync("textDocument/completion", place, 60000, buffer)
  for _, item in ipairs(listed.result.items or listed.result) do
    if item.label == "wr.contracts.review_verdict" then
      vim.lsp.util.apply_text_edits({ item.textEdit }, buffer, client.offset_encoding)
      result.completed = item.label
    end
  end

  -- Renaming, as the command does it.
  cursor('"var": "size"', #'"var": "si')
  vim.lsp.buf.rename("extent")
  wait("the new name", function() return text():find('"var": "extent"', 1, true) end)

  -- Formatting.
  if vim.lsp.buf.format then
    vim.lsp.buf.format({ timeout_ms = 60000 })
  else
    vim.lsp.buf.formatting_sync(nil, 60000)
  end
  result.text = text()
  vim.lsp.stop_client(id)
end

local fine, problem = pcall(session)
finish(not fine and tostring(problem) or nil)
