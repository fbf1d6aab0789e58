package main

import (
	"fmt"

	"github.com/berthproject/berth/parity/workload"
)

// memory compares the memory of both sides at 5,000 nodes and 100,000 pods.
func (b *bench) memory() error {
	sides, err := b.sides(kube, berth)
	if err != nil {
		return err
	}
	placed, arriving := 90_000, 10_000
	if b.o.quick {
		placed, arriving = 900, 100
	}
	w := workload.Full(b.o.nodes, placed, arriving)
	results, err := b.alternate(sides, w, b.o.rounds)
	if err != nil {
		return err
	}
	k, o := results[kube], results[berth]
	fmt.Printf("\nMemory in process, %d nodes, %d pods of which %d arrive and are placed; each pod decoded by itself\n\n", b.o.nodes, placed+arriving, arriving)
	fmt.Printf("| | kube-scheduler | berth | share |\n|---|---|---|---|\n| peak RSS, MiB | %v | %v | %v |\n| live heap after a collection, MiB | %v | %v | %v |\n\n",
		summarize(k, peak), summarize(o, peak), ratio(o, k, peak), summarize(k, liveHeap), summarize(o, liveHeap), ratio(o, k, liveHeap))
	var v verdicts
	share := ratio(o, k, peak).median
	v.add(fmt.Sprintf("memory: %s of kube-scheduler's, target a third", formatFigure(share)), share <= 1.0/3)
	v.print(b.o)
	return nil
}
