package renewal

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
)

// filesOf returns a configuration with the files of a credential, which is its own CA.
func filesOf(t *testing.T, credential *rest.Config) *rest.Config {
	t.Helper()
	dir := t.TempDir()
	config := &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(dir, "ca"), CertFile: filepath.Join(dir, "cert"), KeyFile: filepath.Join(dir, "key")}}
	for file, data := range map[string][]byte{config.CAFile: credential.CertData, config.CertFile: credential.CertData, config.KeyFile: credential.KeyData} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return config
}

// TestFilesOfComponentStayFiles checks that a returned configuration has file names instead of their contents, so that
// the client reads rotated files again.
func TestFilesOfComponentStayFiles(t *testing.T) {
	files := filesOf(t, newCredential(t, "n1"))
	withoutCertificate := &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAFile: files.CAFile}}
	notDirectory := filepath.Join(files.CertFile, "dir")
	for name, o := range map[string]ComponentOptions{
		"no certificate": {Config: withoutCertificate}, "no directory": {Config: files},
		"another user": {Config: files, Dir: t.TempDir()}, "unusable directory": {Config: files, Dir: notDirectory},
	} {
		o.Name, o.MayRenew = "test", func(string) bool { return name != "another user" }
		_, config, err := NewComponent(t.Context(), o)
		if err != nil || config.CAFile != files.CAFile || config.CertFile != o.Config.CertFile || len(config.CAData)+len(config.CertData)+len(config.KeyData) > 0 {
			t.Errorf("%s: %v, configuration %v, want the files only", name, err, config.TLSClientConfig)
		}
	}
}
