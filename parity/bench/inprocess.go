package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/berthproject/berth/parity/workload"
)

// allocsTarget is the target for the allocations per pod.
const allocsTarget = 30

// verdicts collects the targets that are met and missed.
type verdicts struct{ met, missed []string }

func (v *verdicts) add(target string, ok bool) {
	if ok {
		v.met = append(v.met, target)
	} else {
		v.missed = append(v.missed, target)
	}
}

// print prints the verdicts, except after a smoke test, whose figures have no meaning.
func (v *verdicts) print(o *options) {
	if o.quick {
		fmt.Print("-quick: no verdict\n\n")
		return
	}
	fmt.Printf("targets met: %d\n", len(v.met))
	for _, m := range v.missed {
		fmt.Println("target missed:", m)
	}
	fmt.Println()
}

// inProcess measures the workloads, with a kube-scheduler that samples nodes and one that
// evaluates all nodes.
func (b *bench) inProcess() error {
	sides, err := b.sides(kube, berth, shell)
	if err != nil {
		return err
	}
	fmt.Printf("\nIn process, %d nodes, measured by each process: CPU and allocations a pod from its arrival until it is seen bound. \"Machine\" is conversion,\n"+
		"queue, decision, assumption, effect, outcome and confirmation; \"shell\" adds informers and executor on an in-memory API, as kube-scheduler has informers\n"+
		"and binding cycle. A decision alone by the wall clock (kube-scheduler: scheduling_algorithm_duration; Berth: around Decide, without preemption)\n\n", b.o.nodes)
	fmt.Println("| workload | nodes evaluated | pods | kube-scheduler CPU µs | machine CPU µs | ratio | shell CPU µs | ratio | target | allocations, kube / machine / shell | " +
		"decision µs, kube / berth | ratio | pods/s, kube / machine / shell | MiB peak, kube / machine / shell | nodes used / most on one, kube; berth | victims, kube; berth |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	var v verdicts
	for _, percentage := range []int32{0, 100} {
		for _, s := range workload.Cases() {
			if !b.o.only.MatchString(s.Name) {
				continue
			}
			if err := b.row(sides, s, percentage, &v); err != nil {
				return err
			}
		}
	}
	v.print(b.o)
	return nil
}

func (b *bench) row(sides []side, s workload.Case, percentage int32, v *verdicts) error {
	pods, evaluated := s.Pods, "sample"
	if percentage == 100 {
		pods, evaluated = s.All, "all"
	}
	if b.o.quick {
		pods = min(pods, 100)
	}
	w := s.Make(b.o.nodes, pods, percentage)
	if b.o.keep != "" {
		return w.Write(filepath.Join(b.o.keep, fmt.Sprintf("%s-%s.json", strings.NewReplacer(" ", "-", ",", "").Replace(s.Name), evaluated)))
	}
	results, err := b.alternate(sides, w, b.o.rounds)
	if err != nil {
		return err
	}
	k, o, full := results[kube], results[berth], results[shell]
	each := func(of func(*workload.Result) float64) string {
		return formatFigure(summarize(k, of).median) + " / " + formatFigure(summarize(o, of).median) + " / " + formatFigure(summarize(full, of).median)
	}
	speedup := ratio(k, o, cpu)
	fmt.Printf("| %s | %s | %d | %v | %v | **%v** | %v | **%v** | %.0f | %s | %s / %s | %s | %s | %s | %d / %d; %d / %d | %d; %d |\n", s.Name, evaluated, pods,
		summarize(k, cpu), summarize(o, cpu), speedup, summarize(full, cpu), ratio(k, full, cpu), s.Target, each(allocs), formatFigure(summarize(k, decisionTime).median), formatFigure(summarize(o, decisionTime).median),
		formatFigure(ratio(k, o, decisionTime).median), each(throughput), each(peak), k[0].NodesUsed, k[0].MostOnOne, o[0].NodesUsed, o[0].MostOnOne, k[0].Victims, o[0].Victims)
	if percentage == 0 { // the targets compare with a kube-scheduler that samples
		v.add(fmt.Sprintf("%s: CPU ratio %s, target %.0f", s.Name, formatFigure(speedup.median), s.Target), speedup.median >= s.Target)
		a := summarize(o, allocs).median
		v.add(fmt.Sprintf("%s: %s allocations a pod, target %d", s.Name, formatFigure(a), allocsTarget), a <= allocsTarget)
	}
	return nil
}
