package store

import (
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// TestImageServiceUsers checks that a user that the runtime treats as a name is not reported as a
// UID. The UID decides whether a container runs as root. The wanted UID is -1 for a name.
func TestImageServiceUsers(t *testing.T) {
	for user, want := range map[string]int64{"1000": 1000, "1000:5": 1000, "0": 0, "": -1, "+1000": -1, "2147483647": 2147483647,
		"2147483648": -1, "4294967295": -1, "4294967296": -1, "-1": -1, "ann": -1} {
		got := toCRI(Image{Config: v1.Config{User: user}})
		if hasUID := got.Uid != nil; hasUID != (want >= 0) || hasUID && got.Uid.Value != want {
			t.Errorf("user %q: UID %v, name %q, want UID %d", user, got.Uid, got.Username, want)
		}
	}
}
