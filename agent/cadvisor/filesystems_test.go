package cadvisor

import (
	"maps"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/agent/stats"
	"github.com/berthproject/berth/engine/nodepressure"
)

// sender is a collector without descriptions.
type sender func(chan<- prometheus.Metric)

func (sender) Describe(chan<- *prometheus.Desc)         {}
func (send sender) Collect(ch chan<- prometheus.Metric) { send(ch) }

// fsSeries returns the values of the series of file systems by name, container and device.
func fsSeries(t *testing.T, send sender) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(send)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			labels := map[string]string{}
			for _, l := range m.Label {
				labels[l.GetName()] = l.GetValue()
			}
			out[f.GetName()+" "+labels["container"]+" "+labels["device"]] = m.GetGauge().GetValue()
		}
	}
	return out
}

// disk returns a file system of 1000 bytes.
func disk(device string, used int64) filesystem {
	return filesystem{device, stats.DiskUsage{Capacity: 1000, Used: used}}
}

func TestFilesystemSeries(t *testing.T) {
	usage := &nodepressure.PodStats{Containers: []nodepressure.ContainerStats{{Name: "other"},
		{Name: "c", RootFs: nodepressure.FsStats{Known: true, Bytes: 30}, Logs: nodepressure.FsStats{Known: true, Bytes: 12}}}}
	one, two := disk("/dev/a", 400), disk("/dev/b", 700)
	for name, tc := range map[string]struct {
		disks filesystems
		usage *nodepressure.PodStats
		want  map[string]float64
	}{
		"one file system": {filesystems{one, one, one}, usage, map[string]float64{
			"container_fs_usage_bytes  /dev/a": 400, "container_fs_limit_bytes  /dev/a": 1000, "container_fs_usage_bytes c /dev/a": 42, "container_fs_limit_bytes c /dev/a": 1000}},
		"two file systems": {filesystems{one, two, two}, usage, map[string]float64{
			"container_fs_usage_bytes  /dev/a": 400, "container_fs_limit_bytes  /dev/a": 1000, "container_fs_usage_bytes  /dev/b": 700, "container_fs_limit_bytes  /dev/b": 1000,
			"container_fs_usage_bytes c /dev/a": 12, "container_fs_limit_bytes c /dev/a": 1000, "container_fs_usage_bytes c /dev/b": 30, "container_fs_limit_bytes c /dev/b": 1000}},
		"not measured": {filesystems{one, one, one}, nil, map[string]float64{"container_fs_usage_bytes  /dev/a": 400, "container_fs_limit_bytes  /dev/a": 1000}},
		"no layers": {filesystems{one, one, one}, &nodepressure.PodStats{Containers: []nodepressure.ContainerStats{{Name: "c"}}}, map[string]float64{
			"container_fs_usage_bytes  /dev/a": 400, "container_fs_limit_bytes  /dev/a": 1000}},
		"unknown": {filesystems{}, usage, map[string]float64{}},
	} {
		got := fsSeries(t, func(ch chan<- prometheus.Metric) {
			tc.disks.sendNode(ch)
			tc.disks.sendContainer(ch, owner{container: "c"}, tc.usage)
		})
		if !maps.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}

// TestFilesystemDevice checks that the device is the source of the innermost mount. Of two mounts at one mount point,
// the later one counts.
func TestFilesystemDevice(t *testing.T) {
	dir := t.TempDir()
	root, h := tree(t, map[string]string{"proc/self/mountinfo": "1 2 0:1 / /cg rw - cgroup2 cgroup2 rw\n3 1 8:1 / / rw - ext4 /dev/root rw\n" +
		"4 3 8:2 / " + dir + " rw - ext4 /dev/hidden rw\n5 4 8:3 / " + dir + " rw - ext4 /dev/data rw\n6 5 8:4 / " + dir + "/below rw - ext4 /dev/below rw\n"})
	c := Collector{Options{Host: h, Proc: root + "/proc", NodeFs: stats.NewDisk(dir), ImageFs: stats.NewDisk("/"), ContainerFs: stats.NewDisk(dir + "/none")}}
	disks := c.readFilesystems()
	if got, want := []string{disks.node.device, disks.image.device, disks.container.device}, []string{"/dev/data", "/dev/root", ""}; !slices.Equal(got, want) || disks.node.Capacity == 0 {
		t.Errorf("devices %q with a capacity of %d bytes, want %q and a capacity", got, disks.node.Capacity, want)
	}
}
