package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/internal/conversion"
)

// TestValidSchedulerFiles reads the files of testdata/good. Expected warnings are in the
// .txt file of the same name.
func TestValidSchedulerFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil || len(files) < 12 {
		t.Fatalf("got %d files, %v, want at least 12", len(files), err)
	}
	for _, file := range files {
		k, err := read(file)
		if err != nil {
			t.Error(err)
			continue
		}
		want, err := os.ReadFile(strings.TrimSuffix(file, ".yaml") + ".txt")
		if err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
		got := strings.ReplaceAll(strings.Join(append(k.Warnings, ""), "\n"), file, filepath.Base(file))
		if got != string(want) {
			t.Errorf("%s: got warnings\n%swant\n%s", file, got, want)
		}
		checkEffectiveRoundTrip(t, file, k)
	}
}

// checkEffectiveRoundTrip checks that reading the effective configuration gives the same
// result.
func checkEffectiveRoundTrip(t *testing.T, file string, k KubeScheduler) {
	t.Helper()
	js, err := json.Marshal(k.Effective())
	if err != nil {
		t.Fatal(err)
	}
	reread, err := ReadKubeScheduler(Document{File: file, APIVersion: SchedulerAPIVersion, Kind: SchedulerKind, JSON: js})
	if err != nil {
		t.Fatalf("%s: the effective configuration is rejected: %v\n%s", file, err, js)
	}
	k.Warnings, reread.Warnings = nil, nil
	for i := range k.addedAffinity {
		k.addedAffinity[i], reread.addedAffinity[i] = nil, nil // equal except for white space
	}
	got, want := fmt.Sprintf("%+v", reread), fmt.Sprintf("%+v", k)
	if got != want {
		t.Errorf("%s: reread\n%s\nwant\n%s", file, got, want)
	}
}

// readValid reads a file of testdata/good.
func readValid(t *testing.T, name string) KubeScheduler {
	t.Helper()
	k, err := read("testdata/good/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestCompiledProfiles(t *testing.T) {
	k := readValid(t, "no-scoring")
	if len(k.Profiles) != 2 || len(k.Profiles[0].Score) == 0 || len(k.Profiles[1].Score)+len(k.Profiles[1].PreScore) != 0 || k.Profiles[1].Name != "no-scoring-scheduler" {
		t.Errorf("no-scoring: got profiles %+v, want a second one without scores", k.Profiles)
	}
	if k := readValid(t, "no-preemption"); k.Profiles[0].Preemption {
		t.Error("preemption is enabled although DefaultPreemption is disabled")
	}
	if fit := readValid(t, "capacity-ratio").Profiles[0].Fit; fit.Strategy != framework.RequestedToCapacityRatio || len(fit.Shape) != 2 || len(fit.Resources) != 2 {
		t.Errorf("capacity-ratio: got %+v, want the strategy RequestedToCapacityRatio with 2 points and 2 resources", fit)
	}
	k = readValid(t, "everything")
	c := k.Profiles[0]
	if c.VolumeBindTimeout != 30*time.Second || c.InterPod != (framework.InterPodArgs{HardPodAffinityWeight: 2, IgnorePreferredTermsOfExistingPods: true}) ||
		!slices.Equal(c.Fit.IgnoredResources, []string{"example.com/foo"}) || len(c.Balanced) != 2 {
		t.Errorf("everything: got profile %+v, want the arguments of the file", c)
	}
	want := KubeScheduler{InitialBackoff: 2 * time.Second, MaxBackoff: 20 * time.Second, DelayCacheUntilActive: true,
		LeaderElection: LeaderElection{false, 30 * time.Second, 20 * time.Second, 5 * time.Second, "scheduling", "my-scheduler"},
		Client:         ClientConnection{AcceptContentTypes: "application/json", ContentType: "application/json", QPS: 200, Burst: 400}}
	k.Profiles, k.Warnings, k.Extenders, k.addedAffinity = nil, nil, nil, nil
	if !reflect.DeepEqual(k, want) {
		t.Errorf("everything:\ngot  %+v\nwant %+v", k, want)
	}
}

func TestCompiledExtenders(t *testing.T) {
	k := readValid(t, "topolvm")
	if !slices.Equal(k.Profiles[0].Fit.IgnoredResources, []string{"topolvm.io/capacity"}) {
		t.Errorf("NodeResourcesFit ignores %v, want topolvm.io/capacity", k.Profiles[0].Fit.IgnoredResources)
	}
	e := k.Extenders[0]
	if e.Timeout != 5*time.Second || e.URL != "http://127.0.0.1:9251" || e.Filter != "predicate" || e.Weight != 1 {
		t.Errorf("got extender %+v, want the defaults and the fields of the file", e)
	}
	pod := func(resources ...model.Scalar) *model.Pod {
		return &model.Pod{Spec: &model.PodSpec{Requests: model.Resources{Scalars: resources}}}
	}
	if e.IsInterested(pod()) || k.Extenders.AnyInterested(pod(model.Scalar{Name: "nvidia.com/gpu", Amount: 1})) {
		t.Error("the extender is interested in pods without its managed resources")
	}
	if !e.IsInterested(pod(model.Scalar{Name: "topolvm.io/capacity"})) || k.Extenders.AnySupportsPreemption(pod(model.Scalar{Name: "topolvm.io/capacity"})) {
		t.Error("the extender must handle a pod that requests 0 of its resource, and must not support preemption")
	}
	init := corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"topolvm.io/capacity": resource.MustParse("0")}}}
	if !e.IsInterested(conversion.New().Pod(&corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{init}}})) || e.IsInterested(conversion.New().Pod(&corev1.Pod{})) {
		t.Error("the extender ignores a pod whose init container requests 0 of its resource")
	}
	x := readValid(t, "two-extenders-tls").Extenders
	if x[0].URL != "https://second.example" || !x[1].Ignorable || !x[1].TLS.Insecure || x[0].TLS.Insecure || x[1].URL != "https://first.example:443/api" {
		t.Errorf("got extenders %+v, want the ignorable one last and, as it has no CA, without verification of its certificate", x)
	}
	if !x.AnyInterested(pod()) || !x.AnySupportsPreemption(pod()) {
		t.Error("the extenders are not interested in a pod, want all pods if managedResources is empty")
	}
}

// TestRegisteredPluginsExcept checks that a plugin of the engine that kube-scheduler does not have is found.
func TestRegisteredPluginsExcept(t *testing.T) {
	listed := slices.DeleteFunc(slices.Clone(schedulerPlugins), func(p schedulerPlugin) bool {
		return p.name == "ImageLocality" || p.name == "NodePorts"
	})
	got := registeredPluginsExcept(listed)
	for _, want := range []schedulerPlugin{{"NodePorts", "preFilter filter", 1}, {"ImageLocality", "preScore score", 1}} {
		if !slices.Contains(got, want) {
			t.Errorf("got %v, want %v in the list", got, want)
		}
	}
}
