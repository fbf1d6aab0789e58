package userns

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// fileName is the name of the file with a pod's range.
const fileName = "userns"

// record is the content of the file.
type record struct {
	Users  []mapping `json:"uidMappings"`
	Groups []mapping `json:"gidMappings"`
}

// mapping maps IDs of a container to those of the node.
type mapping struct {
	Host      uint32 `json:"hostId"`
	Container uint32 `json:"containerId"`
	Length    uint32 `json:"length"`
}

// readRange reads the range in a pod's directory. The error matches os.IsNotExist if the pod has none.
func readRange(dir string) (Range, error) {
	file := filepath.Join(dir, fileName)
	text, err := os.ReadFile(file)
	if err != nil {
		return Range{}, err
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return Range{}, fmt.Errorf("%s: %w", file, err)
	}
	if len(r.Users) != 1 || len(r.Groups) != 1 || r.Users[0] != r.Groups[0] || r.Users[0].Container != 0 || r.Users[0].Length == 0 {
		return Range{}, fmt.Errorf("%s: must map the IDs of users and groups from 0 on to one range", file)
	}
	return Range{First: r.Users[0].Host, Length: r.Users[0].Length}, nil
}

// writeRange writes the range to a pod's directory, so that it survives a power failure.
func writeRange(dir string, r Range) error {
	m := []mapping{{Host: r.First, Length: r.Length}}
	text, err := json.Marshal(record{Users: m, Groups: m})
	if err != nil {
		return err
	}
	file := filepath.Join(dir, fileName)
	f, err := os.OpenFile(file+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		return fmt.Errorf("saving the pod's range of user IDs: %w", err)
	}
	parent, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer parent.Close()
	return parent.Sync()
}
