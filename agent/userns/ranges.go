package userns

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
)

// DefaultIDsPerPod is the kubelet's default number of IDs of a pod. Numbers of IDs are its multiples.
const DefaultIDsPerPod = 65536

// subordinateUser is the user whose subordinate IDs the node's pods get.
const subordinateUser = "kubelet"

// maxID is the highest ID. The kernel refuses ranges that contain the next one, (uid_t)-1.
const maxID = math.MaxUint32 - 1

// Range is a range of IDs of the node, used for both users and groups.
type Range struct{ First, Length uint32 }

// overlaps reports whether both ranges have an ID in common.
func (r Range) overlaps(other Range) bool {
	return uint64(r.First) < uint64(other.First)+uint64(other.Length) && uint64(other.First) < uint64(r.First)+uint64(r.Length)
}

// NodeRange returns the IDs that the pods of this machine may get, in units of idsPerPod. They are the subordinate IDs
// of the user kubelet in the files subuid and subgid. Without such entries, it returns all IDs from idsPerPod up to
// maxID that fill whole units. The files are usually /etc/subuid and /etc/subgid.
func NodeRange(subuid, subgid string, idsPerPod uint32, maxPods int64) (Range, error) {
	users, err := subordinateIDs(subuid)
	if err != nil {
		return Range{}, err
	}
	groups, err := subordinateIDs(subgid)
	if err != nil {
		return Range{}, err
	}
	switch {
	case users == nil && groups == nil:
		return Range{First: idsPerPod, Length: (maxID+1)/idsPerPod*idsPerPod - idsPerPod}, nil
	case users == nil || groups == nil || *users != *groups:
		return Range{}, fmt.Errorf("%s and %s: user %s: the entries must be equal", subuid, subgid, subordinateUser)
	}
	return *users, users.validate(subuid, idsPerPod, maxPods)
}

func (r Range) validate(file string, idsPerPod uint32, maxPods int64) error {
	switch {
	case r.First%idsPerPod != 0 || r.First < idsPerPod:
		return fmt.Errorf("%s: user %s: first ID %d: must be a positive multiple of %d, the IDs of a pod", file, subordinateUser, r.First, idsPerPod)
	case r.Length%idsPerPod != 0:
		return fmt.Errorf("%s: user %s: count %d: must be a multiple of %d, the IDs of a pod", file, subordinateUser, r.Length, idsPerPod)
	case int64(r.Length/idsPerPod) < maxPods:
		return fmt.Errorf("%s: user %s: count %d: must be at least %d, for %d pods of %d IDs", file, subordinateUser, r.Length, maxPods*int64(idsPerPod), maxPods, idsPerPod)
	}
	return nil
}

// subordinateIDs returns the range of the user kubelet in a file with lines of the form USER:FIRST:COUNT,
// or nil if it has none.
func subordinateIDs(file string) (*Range, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found *Range
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if fields[0] != subordinateUser {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%s: user %s: must have one entry", file, subordinateUser)
		}
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s: %q: must have the form USER:FIRST:COUNT", file, strings.TrimSpace(line))
		}
		first, err := strconv.ParseUint(fields[1], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: first ID: %w", file, strings.TrimSpace(line), err)
		}
		count, err := strconv.ParseUint(fields[2], 10, 32)
		if err != nil || first+count > maxID+1 {
			return nil, fmt.Errorf("%s: %q: count: must be a number, with a last ID of at most %d", file, strings.TrimSpace(line), uint32(maxID))
		}
		found = &Range{First: uint32(first), Length: uint32(count)}
	}
	return found, nil
}
