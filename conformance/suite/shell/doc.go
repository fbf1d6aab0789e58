// Command shell is /bin/sh of the substitute images. It runs the shell of busybox, as the real images do, except in
// two cases in which Debian's busybox differs. Debian's busybox drops variables whose name is not an identifier, and
// runs its applet nc instead of the program of that name. In these cases the command runs bash.
package main
