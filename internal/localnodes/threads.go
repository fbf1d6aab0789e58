package localnodes

import (
	"runtime"
	"sync"
)

// reservedThreads is more than the threads of `berth up` that wait for the kernel at a time, for example while the agent kills
// the cgroups of 50 pods.
const reservedThreads = 64

// ReserveThreads creates threads, which Go's scheduler then keeps for later. It needs one when another blocks in a system
// call, and waits for it before a garbage collection. Each clone waits while a process is moved between cgroups: for seconds
// if a runtime starts many containers and commands. The API server of this process would not respond during that time.
func ReserveThreads() { reserveThreads(reservedThreads) }

func reserveThreads(n int) {
	var started, ended sync.WaitGroup
	exit := make(chan struct{})
	started.Add(n)
	for range n {
		ended.Go(func() {
			runtime.LockOSThread() // until all run, so that each needs a different thread
			defer runtime.UnlockOSThread()
			started.Done()
			<-exit
		})
	}
	started.Wait()
	close(exit)
	ended.Wait()
}
