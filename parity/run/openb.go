package main

func (b *bench) openB() error { return nil }
