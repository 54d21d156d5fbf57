"""Speed, as ratios to something measured in the same run: machines are noisy, ratios are not."""
