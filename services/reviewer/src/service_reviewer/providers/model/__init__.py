"""A reviewer that reads: any endpoint with OpenAI's chat completions API."""
