package nodeagent

import (
	"os"
	"path/filepath"
	"strings"
)

// nodeNameFile holds the name of the directory's node.
const nodeNameFile = "node-name"

// SavedName returns the last name of the node of an agent's directory, or "". It identifies the
// node's pods even if the machine is renamed.
func SavedName(root string) string {
	text, _ := os.ReadFile(filepath.Join(root, nodeNameFile))
	return strings.TrimSpace(string(text))
}

func saveName(root, name string) error {
	if SavedName(root) == name {
		return nil
	}
	return writeFileAtomic(filepath.Join(root, nodeNameFile), name+"\n")
}

// writeFileAtomic replaces a file atomically, so that a full disk does not truncate it.
func writeFileAtomic(file, text string) error {
	temp := file + ".new"
	err := os.WriteFile(temp, []byte(text), 0o600)
	if err == nil {
		err = os.Rename(temp, file)
	}
	if err != nil {
		_ = os.Remove(temp)
	}
	return err
}

// criEndpointFile holds the socket of the CRI runtime that runs the node's pods.
const criEndpointFile = "runtime-endpoint"

// UsedCRI reports whether the last agent of the directory used a CRI runtime. Another runtime
// would start the same pods a second time.
func UsedCRI(root string) bool {
	_, err := os.Stat(filepath.Join(root, criEndpointFile))
	return err == nil
}

// UsedEmbedded reports whether the embedded runtime has pods in an agent's directory.
func UsedEmbedded(root string) bool {
	sandboxes, err := os.ReadDir(filepath.Join(root, "runtime", "sandboxes"))
	return err == nil && len(sandboxes) > 0
}
