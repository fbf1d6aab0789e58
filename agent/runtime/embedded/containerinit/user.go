package containerinit

import (
	"strconv"
	"strings"
	"syscall"
)

// identity is a resolved User.
type identity struct {
	uid, gid uint32
	groups   []uint32
	home     string
}

// IdentityPrefix begins the line that the init process writes to ReportFD before it executes the program. The line is
// "user UID GID GROUP,GROUP,...".
const IdentityPrefix = "user "

// report writes the identity to ReportFD.
func (id *identity) report() error {
	line := IdentityPrefix + strconv.FormatUint(uint64(id.uid), 10) + " " + strconv.FormatUint(uint64(id.gid), 10)
	for i, g := range id.groups {
		separator := ","
		if i == 0 {
			separator = " "
		}
		line += separator + strconv.FormatUint(uint64(g), 10)
	}
	_, err := syscall.Write(ReportFD, []byte(line+"\n"))
	return wrapError("reporting the user", err)
}

// maxIDBits is the number of bits of user and group IDs. The kernel uses one more, and its
// maximum means "unchanged" in setuid, which would keep root.
const maxIDBits = 31

// resolve looks up the user in /etc/passwd and /etc/group of the container. Entries with invalid
// IDs are ignored, and an invalid numeric Name is treated as a name.
func (u *User) resolve() (identity, error) {
	id := identity{home: "/"}
	name, group, _ := strings.Cut(u.Name, ":")
	if u.UID != nil {
		name = strconv.FormatUint(uint64(*u.UID), 10)
	}
	if name == "" {
		name = "0"
	}
	uid, err := strconv.ParseUint(name, 10, maxIDBits)
	numeric := err == nil
	id.uid = uint32(uid)
	inPasswd := false
	login := name
	forEachLine("/etc/passwd", func(f []string) bool {
		if len(f) < 6 || !numeric && f[0] != name {
			return true
		}
		n, err := strconv.ParseUint(f[2], 10, maxIDBits)
		g, gidErr := strconv.ParseUint(f[3], 10, maxIDBits)
		// A number is always an ID: an image must not name root "1000".
		if err != nil || gidErr != nil || numeric && n != uid {
			return true
		}
		inPasswd, login, id.uid, id.gid, id.home = true, f[0], uint32(n), uint32(g), f[5]
		return false
	})
	if !inPasswd && !numeric {
		return id, &startError{"unable to find user " + name + ": no matching entries in passwd file", 128}
	}
	if err := id.resolvePrimaryGroup(u, group); err != nil {
		return id, err
	}
	// The primary group is also a supplementary group. Otherwise a program could leave a group to
	// which access is denied.
	id.groups = append(append(id.groups, id.gid), u.Groups...)
	if u.Merge && inPasswd {
		id.addGroupsOf(login)
	}
	return id, nil
}

// resolvePrimaryGroup sets gid to u.GID, or else to group, the name or ID after the user's name.
func (id *identity) resolvePrimaryGroup(u *User, group string) error {
	switch n, err := strconv.ParseUint(group, 10, maxIDBits); {
	case u.GID != nil:
		id.gid = *u.GID
	case group == "" || u.UID != nil:
	case err == nil:
		id.gid = uint32(n)
	default:
		found := false
		forEachLine("/etc/group", func(f []string) bool {
			if len(f) < 3 || f[0] != group {
				return true
			}
			n, err := strconv.ParseUint(f[2], 10, maxIDBits)
			id.gid, found = uint32(n), err == nil
			return !found
		})
		if !found {
			return &startError{"unable to find group " + group + ": no matching entries in group file", 128}
		}
	}
	return nil
}

// addGroupsOf adds the groups that the user is a member of.
func (id *identity) addGroupsOf(login string) {
	forEachLine("/etc/group", func(f []string) bool {
		if len(f) >= 4 {
			for m := range strings.SplitSeq(f[3], ",") {
				if n, err := strconv.ParseUint(f[2], 10, maxIDBits); m == login && err == nil {
					id.groups = append(id.groups, uint32(n))
				}
			}
		}
		return true
	})
}

// forEachLine calls visit with the fields of each line of a file until visit returns false. A missing
// file has no lines.
func forEachLine(file string, visit func([]string) bool) {
	const maxSize = 1 << 20 // bytes
	// The file is untrusted: read only regular files, without blocking.
	fd, err := syscall.Open(file, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer syscall.Close(fd)
	var info syscall.Stat_t
	if syscall.Fstat(fd, &info) != nil || info.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return
	}
	text := make([]byte, maxSize)
	n := 0
	for n < maxSize {
		count, err := syscall.Read(fd, text[n:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil || count <= 0 {
			break
		}
		n += count
	}
	for line := range strings.SplitSeq(string(text[:n]), "\n") {
		if !visit(strings.Split(line, ":")) {
			return
		}
	}
}
