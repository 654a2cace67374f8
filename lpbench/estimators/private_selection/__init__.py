"""Private selection: the setting of a method is chosen by privatised reports alone, and paid for in users."""
