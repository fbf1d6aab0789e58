package localnodes

import (
	"runtime"
	"sync"
)

// reservedThreads should exceed the number of threads of `berth up` that block in system calls at the same time. An example
// is an agent that kills the cgroups of 50 pods.
const reservedThreads = 64

// ReserveThreads creates threads, which Go's scheduler keeps. The scheduler needs another thread when one blocks in a system
// call, and a garbage collection waits for it. The kernel delays each clone while processes move between cgroups. If a
// runtime starts many containers and commands, the delay is seconds, in which the API server of this process would not
// respond.
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
