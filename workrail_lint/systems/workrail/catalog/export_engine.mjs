// Reads the builtins that an installed engine package keeps in its code and prints them as one JSON object.
// usage: node export_engine.mjs DIRECTORY
// Works for CommonJS and ES modules alike: a dynamic import takes both.
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const MODULES = {
  features: 'dist/application/services/compiler/feature-registry.js',
  refs: 'dist/application/services/compiler/ref-registry.js',
  contracts: 'dist/v2/durable-core/schemas/artifacts/index.js',
};

class Failure extends Error {
  constructor(code, module, message) {
    super(message);
    this.code = code;
    this.module = module;
  }
}

// Whatever the package prints while it loads must not end up between our lines.
process.stdout.write = process.stderr.write.bind(process.stderr);

function say(result) {
  const bytes = Buffer.from(JSON.stringify(result), 'utf8');
  for (let at = 0; at < bytes.length; ) {
    try {
      at += fs.writeSync(1, bytes, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
  process.exit(0);
}

async function load(root, part, name) {
  const module = MODULES[part];
  let loaded;
  try {
    loaded = await import(pathToFileURL(path.join(root, module)).href);
  } catch (error) {
    throw new Failure('module-failed', module, String(error?.message ?? error));
  }
  const value = loaded[name] ?? loaded.default?.[name];
  if (value === undefined) throw new Failure('shape', module, `it does not export ${name}`);
  return value;
}

async function registry(root, part, factory) {
  const module = MODULES[part];
  const create = await load(root, part, factory);
  try {
    const entries = create();
    return Array.from(entries.knownIds(), (id) => {
      const value = entries.resolve(id)?.value;
      if (value === undefined) throw new Error(`resolve(${JSON.stringify(id)}) has no value`);
      return { id, value };
    });
  } catch (error) {
    throw new Failure('shape', module, String(error?.message ?? error));
  }
}

async function contractRefs(root) {
  const refs = await load(root, 'contracts', 'ARTIFACT_CONTRACT_REFS');
  if (typeof refs?.[Symbol.iterator] !== 'function' || typeof refs === 'string') {
    throw new Failure('shape', MODULES.contracts, 'ARTIFACT_CONTRACT_REFS is not a list');
  }
  return Array.from(refs);
}

try {
  const root = path.resolve(process.argv[2]);
  say({
    features: await registry(root, 'features', 'createFeatureRegistry'),
    refs: await registry(root, 'refs', 'createRefRegistry'),
    contracts: await contractRefs(root),
  });
} catch (error) {
  // What is no Failure is a value that JSON can't hold.
  say({ failure: { code: error.code ?? 'shape', module: error.module ?? 'dist', message: error.message } });
}
