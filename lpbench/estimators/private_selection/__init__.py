"""Private selection: the setting of a method is chosen by privatized reports alone, and paid for in users."""
