package main

import (
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// program builds a small binary with the commands man and completion, and returns its path.
func program(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "berth")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", out, "./testdata/program")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if message, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the test program: %v\n%s", err, message)
	}
	return out
}

// packages builds deb and rpm, and returns their paths. They contain the test program, or the binary that BERTH_BINARY
// names.
func packages(t *testing.T) (deb, rpm string) {
	t.Helper()
	binary := os.Getenv("BERTH_BINARY")
	if binary == "" {
		binary = program(t)
	}
	out := t.TempDir()
	if err := run([]string{"-version", "v1.2.3-rc.1", "-arch", runtime.GOARCH, "-binary", binary, "-date", "2026-01-02T03:04:05Z", "-out", out}); err != nil {
		t.Fatal(err)
	}
	find := func(pattern string) string {
		found, err := filepath.Glob(filepath.Join(out, pattern))
		if err != nil || len(found) != 1 {
			t.Fatalf("found %q (error %v), want one file %s", found, err, pattern)
		}
		return found[0]
	}
	return find("berth_1.2.3~rc.1*.deb"), find("berth-1.2.3~rc.1*.rpm")
}

// requireProgram skips the test if the program is not installed, or fails it if BERTH_REQUIRE is all.
func requireProgram(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		skipOrFail(t, err.Error())
	}
}

// skipOrFail skips the test, or fails it if BERTH_REQUIRE is all.
func skipOrFail(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("BERTH_REQUIRE") == "all" {
		t.Fatalf("BERTH_REQUIRE=all forbids skipping: %s", reason)
	}
	t.Skip(reason)
}

// output runs a program and returns its standard output and error output.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestInstallDeb checks the files and the user that the deb creates when it is installed in a directory. Its removal
// leaves only the directory of credentials.
func TestInstallDeb(t *testing.T) {
	requireProgram(t, "dpkg")
	if os.Getuid() != 0 {
		skipOrFail(t, "dpkg requires root")
	}
	deb, _ := packages(t)
	root := t.TempDir()
	for _, dir := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates", "etc"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"var/lib/dpkg/status", "var/lib/dpkg/available", "etc/passwd", "etc/group", "etc/shadow", "etc/gshadow"} {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dpkg := []string{"--root=" + root, "--force-script-chrootless", "--force-not-root", "--log=/dev/null"}
	output(t, "dpkg", append(dpkg, "--install", deb)...)
	if status := output(t, "dpkg-query", "--admindir="+root+"/var/lib/dpkg", "-W", "-f", "${Status} ${Version}", "berth"); !strings.HasPrefix(status, "install ok installed 1.2.3~rc.1") {
		t.Errorf("the package has status %q, want install ok installed 1.2.3~rc.1", status)
	}
	if version := output(t, filepath.Join(root, "usr/bin/kubectl-berth"), "version"); !strings.Contains(version, "version") {
		t.Errorf("kubectl-berth version prints %q, want its version", version)
	}
	for name, mode := range map[string]os.FileMode{
		"etc/berth": os.ModeDir | 0o700, "var/lib/berth": os.ModeDir | 0o755, "usr/bin/berth": 0o755,
		"usr/lib/systemd/system/berth-agent.service": 0o644, "usr/share/doc/berth/sbom.spdx.json": 0o644,
		"usr/share/bash-completion/completions/berth": 0o644,
	} {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: got %v (error %v), want mode %v", name, info, err, mode)
		}
	}
	if pages, _ := filepath.Glob(filepath.Join(root, "usr/share/man/man1/berth*.1")); len(pages) == 0 {
		t.Error("got no manual page, want at least one")
	}
	users, err := os.ReadFile(filepath.Join(root, "etc/passwd"))
	if err != nil || !strings.Contains(string(users), "berth:x:") {
		t.Errorf("etc/passwd is %q (error %v), want a user berth", users, err)
	}
	if enabled, _ := filepath.Glob(filepath.Join(root, "etc/systemd/system/*")); len(enabled) > 0 {
		t.Errorf("got enabled units %q, want none", enabled)
	}
	output(t, "dpkg", append(dpkg, "--remove", "berth")...)
	if _, err := os.Stat(filepath.Join(root, "usr/bin/berth")); err == nil {
		t.Error("usr/bin/berth exists after the removal, want none")
	}
	if _, err := os.Stat(filepath.Join(root, "etc/berth")); err != nil {
		t.Errorf("etc/berth after the removal: got error %v, want the directory of credentials", err)
	}
}

// TestRPM checks that the rpm has the binary, the kubectl plugin and a unit.
func TestRPM(t *testing.T) {
	requireProgram(t, "rpm")
	_, rpm := packages(t)
	files := strings.Split(output(t, "rpm", "-qlp", rpm), "\n")
	for _, name := range []string{"/usr/bin/berth", "/usr/bin/kubectl-berth", "/usr/lib/systemd/system/berth-server.service"} {
		if !slices.Contains(files, name) {
			t.Errorf("got files %q in the rpm, want %s", files, name)
		}
	}
}

func TestPackagesAreReproducible(t *testing.T) {
	deb1, rpm1 := packages(t)
	deb2, rpm2 := packages(t)
	for _, pair := range [][2]string{{deb1, deb2}, {rpm1, rpm2}} {
		a, errA := os.ReadFile(pair[0])
		b, errB := os.ReadFile(pair[1])
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Errorf("%s: got another content in a second build (errors %v, %v), want equal packages", filepath.Base(pair[0]), errA, errB)
		}
	}
}

// TestUnits checks the units with systemd-analyze. It replaces their program with one that exists.
func TestUnits(t *testing.T) {
	requireProgram(t, "systemd-analyze")
	units, err := filepath.Glob("units/*.service")
	if err != nil || len(units) != 4 {
		t.Fatalf("found units %q (error %v), want 4", units, err)
	}
	dir := t.TempDir()
	var copies []string
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.Base(unit))
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "/usr/bin/berth ", "/bin/sh ")), 0o644); err != nil {
			t.Fatal(err)
		}
		copies = append(copies, path)
	}
	out, err := exec.Command("systemd-analyze", append([]string{"verify", "--man=no"}, copies...)...).CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "berth-") { // other lines are about units of this machine
			t.Errorf("systemd-analyze verify: %s", line)
		}
	}
	for _, unit := range copies {
		if !strings.HasSuffix(unit, "agent.service") {
			output(t, "systemd-analyze", "security", "--offline=true", "--threshold=20", unit) // fails above 2.0
		}
	}
}

func TestPackageVersion(t *testing.T) {
	for version, want := range map[string]string{"v1.2.3": "1.2.3", "v1.2.3-rc.1": "1.2.3~rc.1", "devel": "0~devel"} {
		if got := packageVersion(version); got != want {
			t.Errorf("packageVersion(%q) = %q, want %q", version, got, want)
		}
	}
}

// TestBinaryIsStatic checks that the program imports no library.
func TestBinaryIsStatic(t *testing.T) {
	file, err := elf.Open(program(t))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if libraries, err := file.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("the program imports libraries %q (error %v), want none", libraries, err)
	}
}
