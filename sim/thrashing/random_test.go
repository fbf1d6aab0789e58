package thrashing

import (
	"fmt"
	"math/rand"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/script"
)

// randomCluster returns a cluster to which nodes were added after its pods were scheduled. Half of
// the workloads have budgets.
func randomCluster(r *rand.Rand) string {
	var b strings.Builder
	initial, added := 2+r.Intn(3), 1+r.Intn(4)
	node := func(i int) string {
		s := fmt.Sprintf("node n%d cpu=%d labels=zone=z%d,pool=%s", i, 8+4*r.Intn(3), i%3, []string{"a", "b"}[r.Intn(2)])
		if r.Intn(5) == 0 {
			s += " taints=spot:PreferNoSchedule"
		}
		return s + "\n"
	}
	for i := range initial {
		b.WriteString(node(i))
	}
	rules := []string{"", " anti=host:app=w%d", " spread=zone:1:app=w%[1]d", " spread=host:1:soft:app=w%[1]d", " prefer=pool=a", " prefer-anti=host:app=w0", " prefer-affinity=host:app=w%d", " tolerate=spot:PreferNoSchedule", " ports=%d"}
	for i := range 4 + r.Intn(5) {
		rule := rules[r.Intn(len(rules))]
		if strings.Contains(rule, "ports") {
			rule = fmt.Sprintf(rule, 8000+i)
		} else if strings.Contains(rule, "%") {
			rule = fmt.Sprintf(rule, i)
		}
		fmt.Fprintf(&b, "%s w%d replicas=%d cpu=%dm priority=%d labels=app=w%d starts=%ds%s\n", []string{"deployment", "replicaset", "statefulset"}[r.Intn(3)], i, 1+r.Intn(6), 250*(1+r.Intn(6)), r.Intn(3), i, r.Intn(5), rule)
		if i%2 == 0 {
			fmt.Fprintf(&b, "budget w%d match=app=w%d maxUnavailable=%d\n", i, i, r.Intn(3))
		}
	}
	for i := range added {
		fmt.Fprintf(&b, "at 60s %s", node(initial+i))
	}
	if r.Intn(2) == 0 {
		fmt.Fprintf(&b, "at 70s taint n0 old:%s\n", []string{"NoSchedule", "PreferNoSchedule"}[r.Intn(2)])
	}
	return b.String()
}

// TestNoReturnsInRandomClustersSoak checks that no evicted pod returns and that no pod is evicted in
// the last third of the time.
func TestNoReturnsInRandomClustersSoak(t *testing.T) {
	runs := int64(8)
	if os.Getenv("BERTH_SOAK") != "" {
		runs = 400
	}
	o, err := cluster.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	evicted, returned := 0, 0
	for seed := range runs {
		text := randomCluster(rand.New(rand.NewSource(seed)))
		for _, variant := range Variants()[:2] {
			n, lateEvicted, err := runDescheduler("descheduler policy=all.yaml first=2m every=2m "+variant.options+"\n"+text, o)
			if err != nil || lateEvicted > 0 {
				t.Errorf("seed %d, %s: %d pods were evicted, %d of them late, and the error is %v; want no late eviction and no error; in\n%s", seed, variant.Name, n, lateEvicted, err, text)
			}
			evicted += n
		}
		if _, _, err := runDescheduler("descheduler policy=all.yaml compatible first=2m every=2m\n"+text, o); err != nil {
			returned++
		}
	}
	fmt.Printf("soak: %d random clusters, with and without Holds: %d pods moved, none returned; in compatible mode pods returned in %d\n", runs, evicted, returned)
	if evicted < int(runs) {
		t.Errorf("%d pods moved, want at least %d", evicted, runs)
	}
	if returned == 0 {
		t.Errorf("no pod returned in %d clusters in compatible mode, want at least one", runs)
	}
}

// runDescheduler runs a scenario with a descheduler. It returns the number of evicted pods and how many of
// them were evicted in the last third of the time. Evicted pods that returned are an error.
func runDescheduler(text string, o cluster.Options) (evicted, lateEvicted int, err error) {
	var before int
	s, err := script.Parse("testdata/random.txt", text)
	if err != nil {
		return 0, 0, err
	}
	const end = 90 * time.Minute
	result, err := s.RunOn(o, end, func(w *cluster.Cluster) error {
		w.At(end*2/3, func() { before = w.Counts().Descheduled })
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	defer result.Cluster.Close()
	c := result.Cluster.Counts()
	if c.Returned > 0 {
		err = fmt.Errorf("%d of %d evicted pods returned", c.Returned, c.Descheduled)
	}
	if failure := result.Err(); failure != nil {
		err = failure
	}
	return c.Descheduled, c.Descheduled - before, err
}
