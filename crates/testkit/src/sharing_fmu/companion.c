/* The library that an FMU brings beside its own. */
int companion_tick(void) {
    static int count;
    return WEIGHT * ++count;
}
