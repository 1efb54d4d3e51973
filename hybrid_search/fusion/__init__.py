"""Ways of making one order out of several rankings. Each is one pure function a file."""
