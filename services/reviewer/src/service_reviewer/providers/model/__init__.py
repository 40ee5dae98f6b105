"""A reviewer that reads: any endpoint that speaks OpenAI's chat completions."""
