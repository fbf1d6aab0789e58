package volume

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
)

func (f *fixture) updateConfigMap(cm *corev1.ConfigMap) {
	f.t.Helper()
	if _, err := f.client.CoreV1().ConfigMaps(cm.Namespace).Update(context.Background(), cm, metav1.UpdateOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

// countGets returns the number of get requests so far.
func (f *fixture) countGets() int {
	n := 0
	for _, a := range f.client.Actions() {
		if a.GetVerb() == "get" {
			n++
		}
	}
	return n
}

func TestFilesAreRefreshed(t *testing.T) {
	ctx := context.Background()
	h := newFixture(t, configMap("conf", map[string]string{"keep": "1", "drop": "1"}))
	pod := podWith(configMapVolume("conf", "conf"), volume("down", corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{
		Items: []corev1.DownwardAPIVolumeFile{{Path: "app", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['app']"}}}}}))
	h.prepare(pod)
	dir := h.path(pod, "conf")
	before, err := os.Readlink(filepath.Join(dir, dataDirName))
	if err != nil {
		t.Fatal(err)
	}
	h.refresh(ctx, false)
	if current, _ := os.Readlink(filepath.Join(dir, dataDirName)); current != before {
		t.Errorf("version after a refresh without a change is %q, want %q", current, before)
	}

	h.updateConfigMap(configMap("conf", map[string]string{"keep": "2", "new": "2"}))
	h.refresh(ctx, false)
	if got, want := files(t, dir), map[string]string{"keep": "2", "new": "2"}; !maps.Equal(got, want) {
		t.Errorf("files are %v, want %v", got, want)
	}
	if exists(dir, before) || exists(dir, newDataDirName) {
		t.Error("the previous version or the temporary link exists, want neither")
	}

	changed := pod.DeepCopy()
	changed.Labels["app"] = "other"
	h.UpdatePod(changed)
	<-h.wake // Run receives from it
	reads := h.countGets()
	h.refresh(ctx, true)
	if got := readFile(t, h.path(pod, "down"), "app"); got != "other" {
		t.Errorf("file with the label %q, want \"other\"", got)
	}
	h.UpdatePod(changed) // no change
	if len(h.wake) != 0 {
		t.Error("an update without a change triggers a refresh, want none")
	}
	h.refresh(ctx, true)
	if h.countGets() != reads+1 {
		t.Errorf("%d reads for one changed pod with one configMap, want 1", h.countGets()-reads)
	}
}

// TestFilesSurviveDeletedSource checks that files remain while their source does not exist, and are
// refreshed when the source is created again.
func TestFilesSurviveDeletedSource(t *testing.T) {
	ctx := context.Background()
	h := newFixture(t, configMap("conf", map[string]string{"a": "1"}))
	pod := podWith(configMapVolume("conf", "conf"))
	h.prepare(pod)
	if err := h.client.CoreV1().ConfigMaps("shop").Delete(ctx, "conf", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.refresh(ctx, false)
	if got := readFile(t, h.path(pod, "conf"), "a"); got != "1" {
		t.Errorf("file contents %q, want 1", got)
	}
	if _, err := h.client.CoreV1().ConfigMaps("shop").Create(ctx, configMap("conf", map[string]string{"a": "2"}), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	h.refresh(ctx, false)
	if got := readFile(t, h.path(pod, "conf"), "a"); got != "2" {
		t.Errorf("file contents %q, want 2", got)
	}
}

// TestRefreshOfOnePod checks that Refresh updates the files of its pod only, and does nothing for an unknown pod.
func TestRefreshOfOnePod(t *testing.T) {
	ctx := context.Background()
	h := newFixture(t, configMap("conf", map[string]string{"a": "1"}))
	pod, other := podWith(configMapVolume("conf", "conf")), podWith(configMapVolume("conf", "conf"))
	other.UID, other.Name = "uid-other", "other"
	h.prepare(pod)
	h.prepare(other)
	h.updateConfigMap(configMap("conf", map[string]string{"a": "2"}))
	h.Refresh(ctx, pod.UID)
	h.Refresh(ctx, "unknown")
	if got := readFile(t, h.path(pod, "conf"), "a"); got != "2" {
		t.Errorf("file of the pod with contents %q, want 2", got)
	}
	if got := readFile(t, h.path(other, "conf"), "a"); got != "1" {
		t.Errorf("file of the other pod with contents %q, want 1", got)
	}
}

// TestIncompleteVolumesAreRetried checks that refreshes set up a volume that Prepare could not set up,
// and that nothing is set up after Teardown.
func TestIncompleteVolumesAreRetried(t *testing.T) {
	ctx := context.Background()
	h := newFixture(t)
	pod := podWith(emptyDir("data"), configMapVolume("conf", "conf"))
	if err := h.Prepare(ctx, pod); err == nil {
		t.Fatal("Prepare succeeded without the ConfigMap, want an error")
	}
	h.refresh(ctx, false)
	if _, err := h.client.CoreV1().ConfigMaps("shop").Create(ctx, configMap("conf", map[string]string{"a": "1"}), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	h.refresh(ctx, false)
	if got := readFile(t, h.path(pod, "conf"), "a"); got != "1" {
		t.Errorf("file contents %q, want 1", got)
	}
	p := h.findPod(pod.UID)
	if err := h.Teardown(pod.UID); err != nil {
		t.Fatal(err)
	}
	if err := h.setUpAll(ctx, p, pod, h.root+"/uid-1"); err == nil || exists(h.root, "uid-1") {
		t.Errorf("setUpAll after Teardown: %v, want an error and no directory", err)
	}
}

// TestReadsAreShared checks that a refresh reads an object once for all pods, and immutable objects not
// at all.
func TestReadsAreShared(t *testing.T) {
	ctx := context.Background()
	immutable := configMap("immutable", map[string]string{"a": "1"})
	immutable.Immutable = ptr.To(true)
	h := newFixture(t, configMap("conf", nil), immutable)
	for i := range 20 {
		pod := podWith(configMapVolume("conf", "conf"), configMapVolume("immutable", "immutable"))
		pod.UID += uidSuffix(i)
		h.prepare(pod)
	}
	before := h.countGets()
	h.refresh(ctx, false)
	if n := h.countGets() - before; n != 1 {
		t.Errorf("%d reads for 20 pods, want 1", n)
	}
}

func TestTokensAreRenewed(t *testing.T) {
	ctx := context.Background()
	h := newFixture(t)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	h.now = func() time.Time { return now }
	token := func(name string, life int64) corev1.Volume {
		return volume(name, corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &life}}}}})
	}
	pod := podWith(token("hour", 3600), token("week", 7*24*3600))
	h.prepare(pod)
	for _, step := range []struct {
		after      time.Duration
		hour, week string
	}{
		{0, "token-1", "token-2"},
		{47 * time.Minute, "token-1", "token-2"},
		{48 * time.Minute, "token-3", "token-2"}, // 80 % of an hour
		{24*time.Hour - time.Second, "token-4", "token-2"},
		{24 * time.Hour, "token-4", "token-5"}, // maximum age
	} {
		now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(step.after)
		h.refresh(ctx, false)
		if hour, week := readFile(t, h.path(pod, "hour"), "token"), readFile(t, h.path(pod, "week"), "token"); hour[:7] != step.hour || week[:7] != step.week {
			t.Errorf("after %v: %s and %s, want %s and %s", step.after, hour, week, step.hour, step.week)
		}
	}
	h.client.PrependReactor("create", "serviceaccounts", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewServiceUnavailable("unavailable")
	})
	now = now.Add(time.Hour)
	h.refresh(ctx, false)
	if got := readFile(t, h.path(pod, "hour"), "token"); got[:7] != "token-4" {
		t.Errorf("token while requests fail %q, want token-4", got)
	}
}

// TestAtomicUpdate checks that a reader that opens the version directory never reads files of two
// versions.
func TestAtomicUpdate(t *testing.T) {
	requireRoot(t)
	dir := t.TempDir()
	version := func(n int) payload {
		b := []byte(strconv.Itoa(n))
		return payload{"a": {data: b, mode: 0o644}, "sub/b": {data: b, mode: 0o644}}
	}
	if err := writePayload(dir, version(0), noFSGroup); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(done)
		for n := range 300 {
			if err := writePayload(dir, version(n), noFSGroup); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for stop := false; !stop; {
		select {
		case <-done:
			stop = true
		default:
		}
		if !exists(dir, dataDirName) {
			t.Errorf("%s does not exist during an update, want it to exist", dataDirName)
		}
		v, err := os.OpenRoot(filepath.Join(dir, dataDirName))
		if errors.Is(err, fs.ErrNotExist) { // removed after the link was read
			continue
		}
		if err != nil {
			t.Error(err)
			break
		}
		a, errA := v.ReadFile("a")
		b, errB := v.ReadFile("sub/b")
		_ = v.Close()
		if errA == nil && errB == nil && string(a) != string(b) { // an error means that the version was removed
			t.Errorf("files of versions %s and %s, want one version", a, b)
			break
		}
	}
	wg.Wait()
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	current, _ := os.Readlink(filepath.Join(dir, dataDirName))
	want := []string{dataDirName, current, "a", "sub"}
	slices.Sort(want)
	if !slices.Equal(names, want) || err != nil {
		t.Errorf("entries %v, %v, want %v", names, err, want)
	}
}

// TestWritePayloadRepairs checks that the next write repairs the result of a killed agent.
func TestWritePayloadRepairs(t *testing.T) {
	requireRoot(t)
	p := payload{"a": {data: []byte("1"), mode: 0o644}}
	for name, corrupt := range map[string]func(dir string) error{
		"no link to a file":    func(dir string) error { return os.Remove(filepath.Join(dir, "a")) },
		"interrupted swap":     func(dir string) error { return os.Symlink("nowhere", filepath.Join(dir, newDataDirName)) },
		"current link deleted": func(dir string) error { return os.Remove(filepath.Join(dir, dataDirName)) },
		"version incomplete":   func(dir string) error { return os.Mkdir(filepath.Join(dir, "..version-1"), 0o700) },
		"version directory deleted": func(dir string) error {
			current, _ := os.Readlink(filepath.Join(dir, dataDirName))
			return os.RemoveAll(filepath.Join(dir, current))
		},
	} {
		dir := t.TempDir()
		if err := writePayload(dir, p, noFSGroup); err != nil {
			t.Fatal(err)
		}
		if err := corrupt(dir); err != nil {
			t.Fatal(err)
		}
		if err := writePayload(dir, p, noFSGroup); err != nil {
			t.Errorf("%s: %v, want no error", name, err)
		}
		if got := files(t, dir); !maps.Equal(got, map[string]string{"a": "1"}) {
			t.Errorf("%s: files %v, want a", name, got)
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 3 {
			t.Errorf("%s: entries %v, want 3", name, entries)
		}
	}
}
