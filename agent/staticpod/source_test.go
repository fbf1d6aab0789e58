package staticpod

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

const manifest = `{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {priorityClassName: system-node-critical, containers: [{name: c, image: "app:1"}]}}`

// directory is a Source with a clock.
type directory struct {
	*Source
	t   *testing.T
	now time.Time
}

func newDirectory(t *testing.T) *directory {
	t.Helper()
	return &directory{&Source{Path: t.TempDir(), Node: "n1", Interval: 20 * time.Second, Log: klog.Background()}, t, time.Unix(1000, 0)}
}

func (d *directory) write(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.Path, name), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// names returns the names of the pods that a read returns, or "unchanged".
func (d *directory) names() string {
	d.t.Helper()
	pods, changed := d.read(d.now)
	if !changed {
		return "unchanged"
	}
	var out []string
	for _, p := range pods {
		out = append(out, p.Name)
	}
	return strings.Join(out, " ")
}

func (d *directory) expect(want string) {
	d.t.Helper()
	if got := d.names(); got != want {
		d.t.Errorf("pods %q, want %q; errors %v", got, want, d.errors)
	}
}

func (d *directory) first() *corev1.Pod {
	pods, _ := d.unique()
	return pods[0]
}

// TestSourceFollowsFiles adds, changes, breaks and removes manifests.
func TestSourceFollowsFiles(t *testing.T) {
	d := newDirectory(t)
	d.expect("")
	d.expect("unchanged")
	d.write("web.yaml", fmt.Sprintf(manifest, "web"))
	d.write(".hidden.yaml", fmt.Sprintf(manifest, "hidden"))
	d.expect("web-n1")
	first := d.first()
	d.write("web.yaml", strings.Replace(fmt.Sprintf(manifest, "web"), "app:1", "app:2", 1))
	d.expect("web-n1")
	second := d.first()
	if first.UID == second.UID {
		t.Errorf("UID %s of a changed manifest, want another one than before", second.UID)
	}
	d.write("web.yaml", "apiVersion: v1\nkind: Pod\nmeta") // half of a write
	d.expect("web-n1")
	if d.first().UID != second.UID {
		t.Errorf("UID %s with an invalid manifest, want the last valid pod %s", d.first().UID, second.UID)
	}
	d.now = d.now.Add(21 * time.Second)
	d.expect("web-n1")
	d.write("copy.yaml", fmt.Sprintf(manifest, "web")) // sorts before web.yaml
	d.expect("web-n1")
	if d.first().UID != second.UID {
		t.Errorf("UID %s with a copy of the manifest, want %s", d.first().UID, second.UID)
	}
	if err := os.Remove(filepath.Join(d.Path, "web.yaml")); err != nil {
		t.Fatal(err)
	}
	d.expect("web-n1")
	if d.first().UID == second.UID {
		t.Errorf("UID %s after the manifest was removed, want that of the copy", second.UID)
	}
	if err := os.RemoveAll(d.Path); err != nil {
		t.Fatal(err)
	}
	d.expect("")
}

// TestPodIsComplete checks the fields that the kubelet sets on a static pod.
func TestPodIsComplete(t *testing.T) {
	d := newDirectory(t)
	d.write("web", fmt.Sprintf(manifest, "web"))
	d.expect("web-n1")
	p := d.first()
	if p.Namespace != "default" || p.Spec.NodeName != "n1" || p.Annotations[ConfigSource] != "file" || p.Annotations[ConfigHash] != string(p.UID) ||
		p.Annotations[corev1.MirrorPodAnnotationKey] != string(p.UID) || len(p.UID) != 32 {
		t.Errorf("metadata %+v, want namespace, node and annotations", p.ObjectMeta)
	}
	if p.Spec.RestartPolicy != corev1.RestartPolicyAlways || p.Spec.TerminationGracePeriodSeconds == nil || p.Spec.Priority == nil || *p.Spec.Priority != 2000001000 {
		t.Errorf("spec %+v, want defaults and the priority of the class", p.Spec)
	}
	if len(p.Spec.Tolerations) != 1 || p.Spec.Tolerations[0].Effect != corev1.TaintEffectNoExecute {
		t.Errorf("tolerations %v, want NoExecute", p.Spec.Tolerations)
	}
}

// TestHostileFiles checks files that are not manifests, and pods that are not allowed. None of them blocks or hides the
// valid pod.
func TestHostileFiles(t *testing.T) {
	d := newDirectory(t)
	d.write("good.yaml", fmt.Sprintf(manifest, "good"))
	if err := unix.Mkfifo(filepath.Join(d.Path, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"device": "/dev/zero", "loop": "loop", "missing": "/none", "relative": "..data/web.yaml"} {
		if err := os.Symlink(target, filepath.Join(d.Path, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(d.Path, "..data"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.write("..data/web.yaml", fmt.Sprintf(manifest, "linked"))
	huge, err := os.Create(filepath.Join(d.Path, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	if err := huge.Truncate(1 << 40); err != nil {
		t.Fatal(err)
	}
	_ = huge.Close()
	d.write("bomb", "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n")
	d.write("deep", strings.Repeat("[", 100000))
	d.write("list", "{apiVersion: v1, kind: PodList, items: []}")
	for field, text := range map[string]string{"name": `metadata: {name: "../up"}, spec: {containers: [{name: c, image: a}]}`, "none": "metadata: {name: a}, spec: {}",
		"secret": `metadata: {name: a}, spec: {containers: [{name: c, image: a, envFrom: [{secretRef: {name: s}}]}]}`} {
		d.write(field, "{apiVersion: v1, kind: Pod, "+text+"}")
	}
	d.expect("good-n1 linked-n1")
	for file, want := range map[string]string{"fifo": "must be a regular file", "device": "must be a regular file", "loop": "too many levels", "huge": "must be at most 10485760 bytes",
		"bomb": "", "deep": "", "list": "must be v1 and Pod", "name": "metadata.name", "none": "spec.containers: Required", "secret": "spec.containers[0].envFrom[0]: static pods may not reference secrets"} {
		if got := d.errors[filepath.Join(d.Path, file)]; got == "" || !strings.Contains(got, want) {
			t.Errorf("%s: error %q, want %q", file, got, want)
		}
	}
}

// TestUnreadableDirectory checks that the source sends nothing while a directory has too many files to be read. An
// empty list would stop the pods of the last start.
func TestUnreadableDirectory(t *testing.T) {
	d := newDirectory(t)
	for i := range maxFiles + 1 {
		d.write(fmt.Sprint(i), "")
	}
	d.expect("unchanged")
	if len(d.errors) == 0 {
		t.Error("no error, want one for the number of files")
	}
	if err := os.RemoveAll(d.Path); err != nil {
		t.Fatal(err)
	}
	d.expect("")
}

// TestDuplicateIsLoggedOnce checks that two manifests with the same pod name, which are read three times, cause one log
// line.
func TestDuplicateIsLoggedOnce(t *testing.T) {
	d, log := newDirectory(t), &bytes.Buffer{}
	d.Log = textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log)))
	d.write("a", fmt.Sprintf(manifest, "web"))
	d.write("b", fmt.Sprintf(manifest, "web"))
	for range 3 {
		d.expect("web-n1")
		d.now = d.now.Add(21 * time.Second)
	}
	if n := strings.Count(log.String(), "same name"); n != 1 {
		t.Errorf("logged %d times, want once:\n%s", n, log)
	}
}
