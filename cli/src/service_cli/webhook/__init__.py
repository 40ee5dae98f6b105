"""What anyone does with webhooks: register, list, test, rotate and remove them."""
