package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestNameFlag(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	_, missingErr := os.ReadFile(missing)
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"missing file":   {missingErr, "-f " + missing + ": no such file or directory"},
		"several errors": {errors.Join(errors.New("a.yaml: x: must be 1"), errors.New("a.yaml:3: y")), "-f a.yaml: x: must be 1\n-f a.yaml:3: y"},
		"another error":  {errors.New("flags: z"), "flags: z"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := NameFlag(test.err, "-f", "a.yaml", missing); err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	if err := NameFlag(nil, "-f", "a.yaml"); err != nil {
		t.Errorf("without an error: got %v", err)
	}
}
