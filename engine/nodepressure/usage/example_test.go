package usage_test

import (
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/nodepressure/usage"
)

func ExampleParsePod() {
	s, err := usage.ParsePod("memory=50Mi,1Gi@60s;pids=20")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, age := range []time.Duration{0, 30 * time.Second, time.Minute} {
		fmt.Println(age, s.At(usage.Memory, age)>>20, "MiB")
	}
	// Output:
	// 0s 50 MiB
	// 30s 537 MiB
	// 1m0s 1024 MiB
}
