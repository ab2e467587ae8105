"""The formats that ship, registered without the libraries that read them."""
