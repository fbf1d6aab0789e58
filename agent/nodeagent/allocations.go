package nodeagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent"
)

// allocationsFile holds the allocated resources of the node's pods. The kubelet's file has the same
// name and another format.
const allocationsFile = "allocated_pods_state"

// allocationStore is the agent.AllocationStore in an agent's directory.
type allocationStore struct{ root string }

// Load returns the stored allocations, or nil if there is no file.
func (s allocationStore) Load() (allocations map[types.UID]agent.Allocation, err error) {
	text, err := os.ReadFile(filepath.Join(s.root, allocationsFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &allocations)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", filepath.Join(s.root, allocationsFile), err)
	}
	return allocations, nil
}

// Save replaces the file.
func (s allocationStore) Save(allocations map[types.UID]agent.Allocation) error {
	text, err := json.Marshal(allocations)
	if err != nil {
		return err
	}
	return writeFileAtomic(filepath.Join(s.root, allocationsFile), string(text))
}
