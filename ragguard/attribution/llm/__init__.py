"""Language models behind one call, for the methods that ask one."""
