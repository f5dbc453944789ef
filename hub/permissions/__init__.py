"""Which call may happen: rules and rulings, pure."""
