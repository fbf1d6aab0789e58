//go:build !linux

package localprovisioner

// unmountAll does nothing: only agents on Linux mount volumes.
func unmountAll(string) error { return nil }
