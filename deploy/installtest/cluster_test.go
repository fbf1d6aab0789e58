package installtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// timeout is the longest time that the tests wait for a condition.
const timeout = 3 * time.Minute

// cluster is a running `berth up`.
type cluster struct {
	dataDir    string
	kubeconfig string
	config     *rest.Config
	client     kubernetes.Interface
}

// built is the binary that the tests share. TestMain removes dir.
var built struct {
	once      sync.Once
	dir, file string
	err       error
}

// TestMain removes the binary that the tests have built.
func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(built.dir)
	os.Exit(code)
}

// berth returns the path of the binary that BERTH_BINARY names. Without this variable, the first call builds a binary.
func berth(t *testing.T) string {
	t.Helper()
	if binary := os.Getenv("BERTH_BINARY"); binary != "" {
		return binary
	}
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "berth-installtest-"); built.err != nil {
			return
		}
		built.file = filepath.Join(built.dir, "berth")
		build := exec.Command("go", "build", "-o", built.file, "./cmd/berth")
		build.Dir = "../.."
		if output, err := build.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("building berth: %w\n%s", err, output)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.file
}

// start starts `berth up`, which runs until the test ends, and waits until it serves. It has simulated nodes unless the
// flags request others.
func start(t *testing.T, flags ...string) *cluster {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	up := exec.Command(berth(t), append([]string{"up", "--data-dir", data, "--listen", "127.0.0.1:0", "--page-listen", ""}, flags...)...)
	var stderr bytes.Buffer // read after Wait
	up.Stderr = &stderr
	stopWithTest(up)
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = up.Process.Signal(syscall.SIGTERM)
		if err := up.Wait(); err != nil {
			t.Errorf("berth up: %v, want exit code 0", err)
		}
		if t.Failed() {
			t.Logf("berth up:\n%s", &stderr)
		}
	})
	c := &cluster{dataDir: data, kubeconfig: filepath.Join(data, "kubeconfig")}
	waitUntil(t, "berth up serves", func(ctx context.Context) (err error) {
		if c.config, err = clientcmd.BuildConfigFromFlags("", c.kubeconfig); err != nil {
			return err
		}
		if c.client, err = kubernetes.NewForConfig(c.config); err != nil {
			return err
		}
		_, err = c.client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	return c
}

// waitUntil calls condition until it returns nil. The test fails after timeout.
func waitUntil(t *testing.T, description string, condition func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	for {
		err := condition(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("timed out waiting until %s: %v", description, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
