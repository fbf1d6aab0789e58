//go:build linux

package disk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/disk"
	"github.com/berthproject/berth/agent/pods"
	"github.com/berthproject/berth/agent/runtime/cri"
	"github.com/berthproject/berth/agent/runtime/cri/containerd"
	"github.com/berthproject/berth/agent/runtime/fake"
	"github.com/berthproject/berth/agent/stats"
	"github.com/berthproject/berth/agent/volume"
	"github.com/berthproject/berth/internal/testkit/container"
)

// fakeLayers measures fixed layers.
type fakeLayers struct {
	images   map[string][]cri.Layer // by image ID
	writable int64                  // bytes in each writable layer
	err      error                  // of all measurements
}

func (l fakeLayers) ImageLayers(_ context.Context, id string) ([]cri.Layer, error) {
	return l.images[id], l.err
}

func (l fakeLayers) WritableLayer(context.Context, string) (cri.Layer, error) {
	return cri.Layer{Bytes: l.writable, Inodes: 2}, l.err
}

// fakeVolumes has a disk and a memory volume per pod.
type fakeVolumes struct{}

func (fakeVolumes) Usage(uid types.UID) ([]volume.Usage, error) {
	return []volume.Usage{{Name: "cache", Local: true, Bytes: 30 << 10, Inodes: 3}, {Name: "tmpfs", Memory: true, Bytes: 1 << 30}}, nil
}

// pod returns pod default/web with its logs below the directory logs.
func pod(logs string) pods.Pod {
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"}}
	return pods.Pod{Object: o, LogDir: pods.LogDir(logs, o)}
}

// writeFile creates a file of the given size and its parent directories.
func writeFile(t *testing.T, size int, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, make([]byte, size), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestReport(t *testing.T) {
	service, root := fake.New(), t.TempDir()
	logs := filepath.Join(root, "log", "pods")
	a, b := service.PutImage("app:1", 1000), service.PutImage("lib:1", 500)
	pause := service.PutImage("pause:1", 7)
	sandbox := &criapi.PodSandboxConfig{Metadata: &criapi.PodSandboxMetadata{Name: "web"}}
	id, err := service.RunPodSandbox(context.Background(), sandbox, "")
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"io.kubernetes.pod.name": "web", "io.kubernetes.pod.namespace": "default", "io.kubernetes.pod.uid": "u1"}
	if _, err := service.CreateContainer(context.Background(), id, &criapi.ContainerConfig{Metadata: &criapi.ContainerMetadata{Name: "app"},
		Image: &criapi.ImageSpec{Image: "app:1"}, Labels: labels}, sandbox); err != nil {
		t.Fatal(err)
	}
	writeFile(t, 100<<10, logs, "default_web_u1", "app", "0.log")
	writeFile(t, 8<<10, logs, "default_old_u0", "app", "0.log")
	writeFile(t, 16<<10, root, "pods", "u0", "volumes", "x")
	writeFile(t, 16<<10, root, "pods", "u1", "volumes", "x")
	r, err := disk.New(disk.Options{
		Node: "n1", Service: service, NodeFs: stats.NewDisk(root), ImageFs: stats.NewDisk(root), Root: root, LogRoot: logs, Volumes: fakeVolumes{}, PinnedImages: []string{pause.Id},
		Pods: func() []pods.Pod { return []pods.Pod{pod(logs)} },
		Layers: fakeLayers{writable: 50 << 10, images: map[string][]cri.Layer{
			a.Id: {{Key: "base", Bytes: 4000, Inodes: 4}, {Key: "top", Bytes: 6000, Inodes: 6}}, b.Id: {{Key: "base", Bytes: 4000, Inodes: 4}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := r.Report(context.Background())
	if err != nil || len(report.Unknown) > 0 {
		t.Fatalf("Report: %v, unknown %q, want no error and no unknown part", err, report.Unknown)
	}
	got := map[string]disk.Consumer{}
	for _, c := range report.Consumers {
		got[c.Kind+" "+c.Pod+" "+c.Name] = c
	}
	for name, want := range map[string]disk.Consumer{
		"image  app:1":               {Bytes: 800 + 8000, Inodes: 8, Shared: 4000, Users: 1},
		"image  lib:1":               {Bytes: 250 + 2000, Inodes: 2, Shared: 4000},
		"image  pause:1":             {Bytes: 7, Pinned: true},
		"container default/web app":  {Bytes: 50 << 10, Inodes: 2},
		"volume default/web cache":   {Bytes: 30 << 10, Inodes: 3},
		"log default/web app":        {Bytes: got["log default/web app"].Bytes, Inodes: 2},
		"orphan default/old/u0 logs": {Bytes: got["orphan default/old/u0 logs"].Bytes, Inodes: 3},
		"orphan u0 directory":        {Bytes: got["orphan u0 directory"].Bytes, Inodes: 3},
	} {
		c, ok := got[name]
		c.Kind, c.FileSystem, c.Pod, c.UID, c.Name = "", "", "", "", ""
		if !ok || !reflect.DeepEqual(c, want) {
			t.Errorf("%s: %+v, want %+v", name, c, want)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("additional consumers %v, want none", got)
	}
	if c := report.Consumers[0]; c.Kind != disk.Log || c.Bytes < 100<<10 {
		t.Errorf("largest consumer %+v, want the log of 100 KiB", c)
	}
	f := report.FileSystems
	if len(f) != 1 || f[0].Other <= 0 || f[0].Other >= f[0].Used {
		t.Errorf("file systems %+v, want one with other usage", f)
	}
	checkText(t, report)
}

// checkText checks the text of the report, and that its JSON form contains the consumers.
func checkText(t *testing.T, report *disk.Report) {
	t.Helper()
	var text bytes.Buffer
	if err := report.Text(&text, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"nodefs, imagefs", "INODES USED", "images 3", "orphans 2", "other (nodefs)",
		"8800 image app:1 - 8 used by 1 container; shares 4000 with other images", "unused; shares 4000", "pinned"} {
		if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), want) {
			t.Errorf("text\n%swant %q in it", text.String(), want)
		}
	}
	data, err := json.Marshal(report)
	var decoded disk.Report
	if err != nil || json.Unmarshal(data, &decoded) != nil || !decoded.At.Equal(report.At) || !reflect.DeepEqual(decoded.Consumers, report.Consumers) {
		t.Errorf("JSON %s (error %v), want the time and the consumers of %+v", data, err, report)
	}
}

// TestReportListsUnmeasuredParts checks that a failed measurement is listed in Unknown and does not
// affect the other measurements.
func TestReportListsUnmeasuredParts(t *testing.T) {
	service, root := fake.New("app:1"), t.TempDir()
	o := disk.Options{Service: service, NodeFs: stats.NewDisk(root), ImageFs: stats.NewDisk("/proc"), Root: root, LogRoot: root, Volumes: fakeVolumes{},
		Pods: func() []pods.Pod { return nil }, Layers: fakeLayers{err: status.Error(codes.Unimplemented, "layer sizes are not supported")}}
	r, err := disk.New(o)
	if err != nil {
		t.Fatal(err)
	}
	service.Fail("ListContainers", errors.New("unavailable"))
	report, err := r.Report(context.Background())
	if err != nil || len(report.Unknown) != 1 || !strings.Contains(report.Unknown[0], "unavailable") || len(report.FileSystems) != 2 {
		t.Errorf("Report = %+v, %v, want one unknown part and two file systems", report, err)
	}
	if report, err = r.Report(context.Background()); err != nil || len(report.Consumers) != 1 || report.Consumers[0].Bytes != 1<<20 || len(report.Unknown) != 1 {
		t.Errorf("Report = %+v, %v, want the compressed size of the image, and its layers as unknown", report, err)
	}
	if unknown := strings.Join(report.Unknown, "; "); unknown != "images: unpacked layers: layer sizes are not supported" {
		t.Errorf("unknown %q, want the message of the status only", unknown)
	}
	o.NodeFs = stats.NewDisk("/nowhere")
	if r, err = disk.New(o); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Report(context.Background()); err == nil {
		t.Error("Report succeeded for a missing file system, want an error")
	}
}

// TestReportWithoutConsumersHasAList checks that the list of consumers is not nil: clients of the JSON
// form read its length.
func TestReportWithoutConsumersHasAList(t *testing.T) {
	root := t.TempDir()
	r, err := disk.New(disk.Options{Service: fake.New(), NodeFs: stats.NewDisk(root), ImageFs: stats.NewDisk(root), Root: root, LogRoot: root, Volumes: fakeVolumes{},
		Pods: func() []pods.Pod { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if report, err := r.Report(context.Background()); err != nil || report.Consumers == nil || len(report.Consumers) != 0 {
		t.Errorf("Report = %+v, %v, want an empty list of consumers that is not nil", report, err)
	}
}

// TestReportOfContainerd checks that with containerd the consumers have at least three quarters of the
// used space.
func TestReportOfContainerd(t *testing.T) {
	root := container.Disk(t, 128<<20, 0)
	r := container.StartContainerd(t, func(o *containerd.Options) { o.Dir = filepath.Join(root, "c") })
	r.LoadWorkload(t)
	_, id := r.Run(t, container.Pod{Name: "writer", Args: []string{"-write=8Mi", "-write-to=/data", "-exit=1", "-after=1h"}})
	r.WaitForLog(t, "writer", "write done")
	unix.Sync()
	info, err := r.Service.ImageFsInfo(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	reporter, err := disk.New(disk.Options{Service: r.Service, Layers: r.Service, NodeFs: stats.NewDisk(r.Dir),
		ImageFs: stats.NewDisk(info.ImageFilesystems[0].FsId.Mountpoint), Root: r.Dir, LogRoot: r.Dir, Volumes: fakeVolumes{}, Pods: func() []pods.Pod { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	report, err := reporter.Report(context.Background())
	if err != nil || len(report.Unknown) > 0 || len(report.FileSystems) != 2 {
		t.Fatalf("report %+v, %v, want two file systems and no unknown part", report, err)
	}
	for _, c := range report.Consumers {
		switch {
		case c.Kind == disk.WritableLayer && (c.Pod != "default/writer" || c.Bytes < 8<<20 || c.Bytes > 9<<20):
			t.Errorf("writable layer %+v, want 8 MiB of default/writer", c)
		case c.Name == container.WorkloadName && (c.Users != 1 || c.Bytes < 8<<20):
			t.Errorf("image of container %s: %+v, want one user and at least 8 MiB", id, c)
		}
	}
	if f := report.FileSystems[1]; f.Other > f.Used/4 {
		t.Errorf("%d bytes used, %d of them other, want at most a quarter; consumers %+v", f.Used, f.Other, report.Consumers)
	}
}

// TestWritableLayersFromRuntimeStats checks that the report uses the container stats of the runtime if
// the runtime does not measure layers.
func TestWritableLayersFromRuntimeStats(t *testing.T) {
	service, root := fake.New("app:1"), t.TempDir()
	sandbox := &criapi.PodSandboxConfig{Metadata: &criapi.PodSandboxMetadata{Name: "web"}}
	sandboxID, err := service.RunPodSandbox(t.Context(), sandbox, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"app", "unmeasured"} {
		id, err := service.CreateContainer(t.Context(), sandboxID, &criapi.ContainerConfig{Metadata: &criapi.ContainerMetadata{Name: name}, Image: &criapi.ImageSpec{Image: "app:1"}}, sandbox)
		if err != nil {
			t.Fatal(err)
		}
		if name == "app" {
			service.SetStats(&criapi.ContainerStats{Attributes: &criapi.ContainerAttributes{Id: id},
				WritableLayer: &criapi.FilesystemUsage{UsedBytes: &criapi.UInt64Value{Value: 4711}}})
		}
	}
	r, err := disk.New(disk.Options{Service: service, NodeFs: stats.NewDisk(root), ImageFs: stats.NewDisk(root), Root: root, LogRoot: root, Volumes: fakeVolumes{},
		Pods: func() []pods.Pod { return nil }, Layers: fakeLayers{err: status.Error(codes.Unimplemented, "layer sizes are not supported")}})
	if err != nil {
		t.Fatal(err)
	}
	report, err := r.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(report.Consumers, func(c disk.Consumer) bool { return c.Name == "app" && c.Bytes == 4711 }) {
		t.Errorf("consumers %+v, want the writable layer of app", report.Consumers)
	}
	if unknown := strings.Join(report.Unknown, "\n"); !strings.Contains(unknown, "not reported by the runtime") || strings.Contains(unknown, "nil") {
		t.Errorf("unknown %q, want the writable layer of unmeasured without nil", unknown)
	}
}
