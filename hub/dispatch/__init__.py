"""Jobs, the dispatcher, reports and the tools around them."""
