package conversion

import (
	"encoding/json"
	"math/rand"
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/nodedeclaredfeatures"
	"sigs.k8s.io/randfill"
)

// randomStrings are the strings of random pods. They are few, so that they collide.
var randomStrings = []string{"", "a", "b", "In", "Exists", "Always", "NoSchedule", "cpu", "memory", "example.com/gpu", "DoNotSchedule", "Gt", "7"}

func filler(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.5).NumElements(0, 2).Funcs(
		func(s *string, c randfill.Continue) { *s = randomStrings[c.Intn(len(randomStrings))] },
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewMilliQuantity(int64(c.Intn(5))*500, resource.DecimalSI)
		},
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.Time{Time: time.Unix(int64(c.Intn(100)), 0)} },
		func(*metav1.FieldsV1, randfill.Continue) {},
		func(*runtime.RawExtension, randfill.Continue) {},
	)
}

// TestKeyCoversConvertedFields checks that pods with equal keys have equal specifications: after a random field is
// exchanged, either the keys differ or the specifications are equal.
func TestKeyCoversConvertedFields(t *testing.T) {
	iterations := 300
	if testing.Short() {
		iterations = 50
	}
	random := rand.New(rand.NewSource(1))
	f := filler(1)
	conv := New()
	equal, different := 0, 0
	for range iterations {
		a, other := &corev1.Pod{}, &corev1.Pod{}
		f.Fill(a)
		f.Fill(other)
		for range 40 {
			b := a.DeepCopy()
			exchange(random, reflect.ValueOf(b).Elem(), reflect.ValueOf(other).Elem())
			ka := string(conv.key.forPod(a, inferFeatures(&nodedeclaredfeatures.PodInfo{Spec: &a.Spec})))
			if kb := string(conv.key.forPod(b, inferFeatures(&nodedeclaredfeatures.PodInfo{Spec: &b.Spec}))); ka != kb {
				different++
				continue
			}
			equal++
			if sa, sb := convertPodSpec(a, inferFeatures(&nodedeclaredfeatures.PodInfo{Spec: &a.Spec})), convertPodSpec(b, inferFeatures(&nodedeclaredfeatures.PodInfo{Spec: &b.Spec})); !reflect.DeepEqual(sa, sb) {
				ja, _ := json.Marshal(a)
				jb, _ := json.Marshal(b)
				t.Fatalf("equal keys, different specifications:\n%s\n%s\n%+v\n%+v", ja, jb, sa, sb)
			}
		}
	}
	if equal < iterations || different < iterations {
		t.Errorf("the test is ineffective: %d equal keys, %d different", equal, different)
	}
}

// exchange copies one random field below from to the same field below to.
func exchange(random *rand.Rand, to, from reflect.Value) {
	for {
		switch {
		case to.Kind() == reflect.Struct && to.NumField() > 0 && to.Type() != reflect.TypeFor[resource.Quantity]() && to.Type() != reflect.TypeFor[metav1.Time]():
			i := random.Intn(to.NumField())
			to, from = to.Field(i), from.Field(i)
		case to.Kind() == reflect.Pointer && !to.IsNil() && !from.IsNil() && random.Intn(4) > 0:
			to, from = to.Elem(), from.Elem()
		case to.Kind() == reflect.Slice && to.Len() > 0 && from.Len() > 0 && random.Intn(4) > 0:
			to, from = to.Index(random.Intn(to.Len())), from.Index(random.Intn(from.Len()))
		default:
			if to.CanSet() {
				to.Set(from)
			}
			return
		}
	}
}

// TestInferFeaturesMatchesUpstream checks that inferring each feature separately gives the result of upstream's
// framework.
func TestInferFeaturesMatchesUpstream(t *testing.T) {
	f := filler(3).NilChance(0.2)
	framework := nodedeclaredfeatures.DefaultFramework
	withFeatures := 0
	for range 500 {
		p := &corev1.Pod{}
		f.Fill(p)
		for i := range p.Spec.Containers {
			if rules := p.Spec.Containers[i].RestartPolicyRules; len(rules) > 0 {
				rules[0].Action = corev1.ContainerRestartRuleActionRestartAllContainers
			}
		}
		info := &nodedeclaredfeatures.PodInfo{Spec: &p.Spec}
		set, err := framework.InferForPodScheduling(info, kubeVersion)
		if err != nil {
			t.Fatal(err)
		}
		want, err := framework.Unmap(set)
		if err != nil {
			t.Fatal(err)
		}
		if got := inferFeatures(info); !slices.Equal(got, want) {
			t.Fatalf("got features %v, want %v", got, want)
		}
		if len(want) > 0 {
			withFeatures++
		}
	}
	if withFeatures < 50 {
		t.Errorf("the test is ineffective: %d pods of 500 need features", withFeatures)
	}
}

func TestKeyDoesNotDependOnMapOrder(t *testing.T) {
	f := filler(2).NilChance(0.1).NumElements(2, 4)
	conv := New()
	for range 50 {
		p := &corev1.Pod{}
		f.Fill(p)
		k := string(conv.key.forPod(p, nil))
		for range 5 {
			if string(conv.key.forPod(p.DeepCopy(), nil)) != k {
				t.Fatal("the key of a pod changed")
			}
		}
	}
}

func FuzzPod(f *testing.F) {
	f.Add([]byte(`{"spec":{"containers":[{"resources":{"requests":{"cpu":"9999999999999999999"}}}]}}`))
	f.Add([]byte(`{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{}]}}}}}`))
	f.Add([]byte(`{"spec":{"volumes":[{"name":"v","ephemeral":{}},{"rbd":{}},{"awsElasticBlockStore":{"volumeID":"aws://"}}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p := &corev1.Pod{}
		if json.Unmarshal(text, p) != nil {
			return
		}
		conv := New()
		first := conv.Pod(p)
		if second := conv.Pod(p.DeepCopy()); second.Spec != first.Spec {
			t.Error("the same pod has two specifications")
		}
	})
}
