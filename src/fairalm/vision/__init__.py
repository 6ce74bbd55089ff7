"""Pictures: nets, their training, and where they look. Needs the extra `vision`; import from the modules inside."""
