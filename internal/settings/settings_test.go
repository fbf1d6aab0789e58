package settings

import (
	"os"
	"strings"
	"testing"
)

func TestErrorsNameTheFlag(t *testing.T) {
	t.Chdir(t.TempDir())
	const header = "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n"
	for name, test := range map[string]struct{ text, want string }{
		"two invalid values": {header + "scheduler: {seed: -4, bindWorkers: 0}\n", "--config c.yaml: scheduler.seed: -4: must be 0 or more\n--config c.yaml: scheduler.bindWorkers: 0:"},
		"YAML":               {"a: [", "--config c.yaml: "},
		"other kind":         {"apiVersion: v1\nkind: Pod\n", "--config c.yaml: "},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile("c.yaml", []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Load([]string{"c.yaml"}); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v, want an error that starts with %s", err, test.want)
			}
		})
	}
	if _, err := Load([]string{"missing.yaml"}); err == nil || err.Error() != "--config missing.yaml: no such file or directory" {
		t.Errorf("missing file: got %v", err)
	}
}
