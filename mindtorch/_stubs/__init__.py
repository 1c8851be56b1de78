"""Type stubs of the namespaces that tables fill at run time, which no type checker can see into."""
