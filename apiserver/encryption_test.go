package apiserver_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kms "k8s.io/kms/pkg/service"

	"github.com/berthproject/berth/apiserver"
)

func writeFile(t *testing.T, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func encryptSecrets(providers string) string {
	return "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n" + providers
}

// reversingKMS is a KMS plugin that reverses its input.
type reversingKMS struct{}

func (reversingKMS) reverse(data []byte) []byte {
	out := bytes.Clone(data)
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

func (r reversingKMS) Decrypt(_ context.Context, _ string, request *kms.DecryptRequest) ([]byte, error) {
	return r.reverse(request.Ciphertext), nil
}

func (r reversingKMS) Encrypt(_ context.Context, _ string, data []byte) (*kms.EncryptResponse, error) {
	return &kms.EncryptResponse{Ciphertext: r.reverse(data), KeyID: "1"}, nil
}

func (reversingKMS) Status(context.Context) (*kms.StatusResponse, error) {
	return &kms.StatusResponse{Version: "v2", Healthz: "ok", KeyID: "1"}, nil
}

// TestSecretsAreEncryptedOnDisk checks that secrets are encrypted on disk, and readable after a restart.
func TestSecretsAreEncryptedOnDisk(t *testing.T) {
	key := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
	socketDir, err := os.MkdirTemp("", "kms") // a socket's path is limited to 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(socketDir)
	plugin := kms.NewGRPCService(filepath.Join(socketDir, "s"), 5*time.Second, reversingKMS{})
	go func() { _ = plugin.ListenAndServe() }()
	defer plugin.Shutdown()
	for prefix, providers := range map[string]string{
		"k8s:enc:secretbox:v1:k:": "  - secretbox: {keys: [{name: k, secret: " + key + "}]}\n  - identity: {}\n",
		"k8s:enc:kms:v2:p:":       "  - kms: {apiVersion: v2, name: p, endpoint: unix://" + filepath.Join(socketDir, "s") + "}\n",
	} {
		file, dir := writeFile(t, "encryption.yaml", encryptSecrets(providers)), t.TempDir()
		withEncryption := func(o *apiserver.Options) { o.EncryptionConfigFile, o.DataDir = file, dir }
		server := start(t, withEncryption)
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"k": []byte("plain-value-of-the-secret")}}
		if _, err := clientset(t, server.LoopbackConfig()).CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		server.stop()
		if !isOnDisk(t, dir, prefix) || isOnDisk(t, dir, "plain-value-of-the-secret") {
			t.Errorf("%s: prefix on disk: %t, plain value on disk: %t, want true and false", prefix, isOnDisk(t, dir, prefix), isOnDisk(t, dir, "plain-value-of-the-secret"))
		}
		restarted := start(t, withEncryption, func(o *apiserver.Options) { o.EncryptionConfigReload = true })
		got, err := clientset(t, restarted.LoopbackConfig()).CoreV1().Secrets("default").Get(t.Context(), "s", metav1.GetOptions{})
		if err != nil || string(got.Data["k"]) != "plain-value-of-the-secret" {
			t.Errorf("%s: secret after a restart: got %v and error %v, want the plain value", prefix, got, err)
		}
		restarted.stop()
	}
}

// isOnDisk reports whether a file of the data directory contains the text.
func isOnDisk(t *testing.T, dir, text string) (found bool) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		found = found || bytes.Contains(data, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestInvalidEncryptionConfigIsRejected(t *testing.T) {
	for providers, want := range map[string]string{
		"  - secretbox: {keys: [{name: k, secret: c2hvcnQ=}]}\n": "--encryption-provider-config",
		"  - frob: {}\n": `unknown field "resources[0].providers[0].frob"`,
	} {
		o := options(t.TempDir())
		o.EncryptionConfigFile = writeFile(t, "encryption.yaml", encryptSecrets(providers))
		if _, err := apiserver.New(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error that contains %q", providers, err, want)
		}
	}
}
