package nodepressure

import (
	"strings"
	"testing"
	"time"
)

// storagePod returns a pod that uses local storage, in MiB, with a local volume.
func storagePod(name string, layer, files, volume int64) Pod {
	p := memoryPod(name, 1)
	p.EvictionSpec.Volumes = []Volume{{Name: "data", Local: true}}
	p.Stats.EphemeralKnown, p.Stats.Ephemeral = true, (layer+files+volume)*mi
	p.Stats.Files = FsStats{Known: true, Bytes: files * mi, Inodes: 3}
	p.Stats.Containers[0].RootFs, p.Stats.Containers[0].Logs = FsStats{Known: true, Bytes: layer * mi}, FsStats{Known: true}
	p.Stats.Volumes = []VolumeStats{{Name: "data", FsStats: FsStats{Known: true, Bytes: volume * mi}}}
	return p
}

// evictFromFullDisk returns the eviction on a node whose disk is full.
func evictFromFullDisk(t *testing.T, o Options, pods ...Pod) (*Machine, *Evict) {
	t.Helper()
	m := New(Config{Thresholds: []Threshold{{Signal: NodeFsAvailable, Value: Value{Percentage: 0.1}}}, TransitionPeriod: time.Minute, LocalStorage: true, Options: o})
	observe := func(ms int) *Observation {
		o := &Observation{Pods: func() []Pod { return pods }, CheckLimits: true}
		o.Signals[NodeFsAvailable] = Stat{Known: true, Available: 1 * mi, Capacity: 2048 * mi, Time: at(ms)}
		return o
	}
	effects, _ := m.Step(at(0), observe(0))
	effects = append(effects, m.Reclaimed(at(10), observe(10))...)
	for _, e := range effects {
		if e, ok := e.(Evict); ok {
			return m, &e
		}
	}
	t.Fatalf("effects %v, want an eviction", effects)
	return m, nil
}

// TestSharedFilesAreRanked checks that files that the containers share rank a pod like its other local storage.
func TestSharedFilesAreRanked(t *testing.T) {
	if _, e := evictFromFullDisk(t, AllOptions(), storagePod("layer", 300, 0, 0), storagePod("files", 0, 400, 0), storagePod("volume", 0, 0, 200)); e.Pod.Name != "files" {
		t.Errorf("evicted %s, want files: %s", e.Pod.Name, e.Message)
	}
}

// TestDiskEvictionMessage checks that the message names the volume or the files that use more than the containers,
// and that Update replaces the usage.
func TestDiskEvictionMessage(t *testing.T) {
	const files = "Files of the pod outside of its containers, such as /etc/hosts, were using 400Mi. "
	kubelet := AllOptions()
	kubelet.NameVolumes = false
	for _, tc := range []struct {
		options Options
		pod     Pod
		want    string
	}{
		{AllOptions(), storagePod("p", 1, 400, 5), files},
		{AllOptions(), storagePod("p", 1, 4, 500), "Volume data was using 500Mi. "},
		{AllOptions(), storagePod("p", 600, 400, 500), "Container c was using 600Mi, request is 0, has larger consumption of ephemeral-storage. "},
		{kubelet, storagePod("p", 1, 400, 5), "Container c was using 1Mi, request is 0, has larger consumption of ephemeral-storage. "},
	} {
		_, e := evictFromFullDisk(t, tc.options, tc.pod)
		if !strings.HasSuffix(e.Message, tc.want) || !strings.HasPrefix(e.Message, "The node was low on resource: ephemeral-storage. Threshold quantity: ") {
			t.Errorf("message %q, want one that ends in %q", e.Message, tc.want)
		}
		updated := storagePod("p", 700, 0, 0)
		e.Update(updated.Stats)
		if strings.Count(e.Message, "was using") != 1 || !strings.Contains(e.Message, "Container c was using 700Mi") || e.Annotations[1].Value != "700Mi" {
			t.Errorf("after the update: message %q, annotations %v; want only container c, with 700Mi", e.Message, e.Annotations)
		}
	}
}

// TestClaimLimit checks that a pod that exceeds the capacity of a claim is evicted, and that Update keeps its message.
func TestClaimLimit(t *testing.T) {
	p := storagePod("p", 0, 0, 0)
	p.Stats.Volumes = append(p.Stats.Volumes, VolumeStats{Name: "db", Claim: "shop", Limit: 10 * mi, FsStats: FsStats{Known: true, Bytes: 11 * mi}})
	_, e := evictFromFullDisk(t, AllOptions(), p)
	e.Update(p.Stats)
	if e.Cause != CauseClaim || e.Message != `Usage 11Mi of PersistentVolumeClaim "shop" exceeds its capacity 10Mi. ` {
		t.Errorf("got cause %s and message %s, want those of the claim", e.Cause, e.Message)
	}
}
