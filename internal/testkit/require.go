package testkit

import (
	"os"
	"testing"
)

// SkipOrFail skips the test because a part is missing, or fails it with BERTH_REQUIRE=all.
func SkipOrFail(t testing.TB, part, reason string) {
	t.Helper()
	if os.Getenv("BERTH_REQUIRE") == "all" {
		t.Fatalf("%s is missing and BERTH_REQUIRE=all forbids skipping: %s", part, reason)
	}
	t.Skipf("needs %s: %s", part, reason)
}
