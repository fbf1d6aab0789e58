package apiserver_test

import (
	"path/filepath"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/apiserver/store"
)

// TestSnapshotOfRunningServerHasObjects checks that a running server returns a snapshot with its objects. Only
// system:masters may read it.
func TestSnapshotOfRunningServerHasObjects(t *testing.T) {
	s := start(t)
	client := kubernetes.NewForConfigOrDie(s.LoopbackConfig())
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	snapshot, err := client.Discovery().RESTClient().Get().AbsPath(apiserver.SnapshotPath).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	status, err := store.SaveSnapshot(snapshot, filepath.Join(t.TempDir(), "s.db"))
	if err != nil || status.TotalKey < 50 {
		t.Errorf("got snapshot %+v and error %v, want at least 50 keys", status, err)
	}
	otherConfig := s.LoopbackConfig()
	otherConfig.Impersonate.UserName = "a-user"
	_, err = kubernetes.NewForConfigOrDie(otherConfig).Discovery().RESTClient().Get().AbsPath(apiserver.SnapshotPath).Stream(t.Context())
	if !apierrors.IsForbidden(err) {
		t.Errorf("snapshot for another user: %v, want forbidden", err)
	}
}
