package criserver

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// maxSocketPath is the maximum length of a unix socket's path in bytes.
const maxSocketPath = 107

// listen creates a unix socket that only root can use. It replaces the socket of a server that
// has exited.
func listen(socket string) (net.Listener, error) {
	if !filepath.IsAbs(socket) || len(socket) > maxSocketPath {
		return nil, fmt.Errorf("socket %q: must be an absolute path of at most %d bytes", socket, maxSocketPath)
	}
	info, err := os.Lstat(socket)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("examining the socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("socket %s: the path exists and is not a socket", socket)
	default:
		if conn, err := net.Dial("unix", socket); err == nil {
			_ = conn.Close()
			return nil, fmt.Errorf("socket %s: in use by another process: stop it, or choose another path", socket)
		}
	}
	// A private directory hides the socket until it has its mode.
	dir, err := os.MkdirTemp(filepath.Dir(socket), ".s")
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", socket, err)
	}
	defer os.RemoveAll(dir)
	// The path of this directory may be too long for a socket address, so use its descriptor.
	handle, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", socket, err)
	}
	defer handle.Close()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: fmt.Sprintf("/proc/self/fd/%d/s", handle.Fd()), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", socket, err)
	}
	listener.SetUnlinkOnClose(false) // the socket is renamed
	err = os.Chmod(filepath.Join(dir, "s"), 0o600)
	if err == nil {
		err = os.Rename(filepath.Join(dir, "s"), socket)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("socket %s: %w", socket, err), listener.Close())
	}
	return listener, nil
}

// removeSocket removes the socket. It succeeds if there is none.
func removeSocket(socket string) error {
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the socket: %w", err)
	}
	return nil
}
