//go:build !linux

package fastinit

// DeferGC does nothing: only Linux runs containers.
func DeferGC() {}

// DropFilePages does nothing.
func DropFilePages() {}

// DropFilePagesBy does nothing.
func DropFilePagesBy(uintptr) {}
