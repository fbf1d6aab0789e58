package store

import (
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// What a container's start takes for a name must not pass for a number here: by the number it is seen that it is not root.
func TestImageServiceUsers(t *testing.T) {
	for user, want := range map[string]int64{"1000": 1000, "1000:5": 1000, "0": 0, "": -1, "+1000": -1, "2147483647": 2147483647,
		"2147483648": -1, "4294967295": -1, "4294967296": -1, "-1": -1, "ann": -1} {
		got := toCRI(Image{Config: v1.Config{User: user}})
		if has := got.Uid != nil; has != (want >= 0) || has && got.Uid.Value != want {
			t.Errorf("user %q is %v %q, want number %d", user, got.Uid, got.Username, want)
		}
	}
}
