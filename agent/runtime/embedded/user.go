package embedded

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// readUser returns the user that a container's program was started with, or nil if it is unknown.
func readUser(dir string) *cri.LinuxContainerUser {
	text, err := os.ReadFile(filepath.Join(dir, shim.UserFile))
	if err != nil {
		return nil
	}
	var numbers []int64
	for field := range strings.FieldsFuncSeq(string(text), func(r rune) bool { return r == ' ' || r == ',' }) {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return nil
		}
		numbers = append(numbers, n)
	}
	if len(numbers) < 2 {
		return nil
	}
	return &cri.LinuxContainerUser{Uid: numbers[0], Gid: numbers[1], SupplementalGroups: numbers[2:]}
}
