"""What a backend is known not to do. A check named here must fail: one that holds has to leave the table."""

KNOWN_WEAKNESSES = {
    ("bubblewrap", "a_background_process_lives_on_between_commands"): (
        "each command has a process namespace of its own, which ends with it"
    ),
    ("bubblewrap", "every_system_folder_can_be_written_to"): (
        "below /usr/bin, /usr/local and their like, folders stay the machine's root's, who is not mapped"
    ),
    ("bubblewrap", "other_users_exist"): "one user is mapped; more need newuidmap and a range in /etc/subuid",
    (
        "bubblewrap",
        "root_gives_files_to_other_users",
    ): "one user is mapped, so there is nobody to give them to",
    (
        "bubblewrap",
        "the_dockerfiles_commands_were_run",
    ): "RUN lines are noted and not run; evidence is provisional",
    ("bubblewrap", "the_tools_are_the_images_own"): "the system folders are the machine's, copy-on-write",
    ("bubblewrap", "paths_of_the_machine_are_not_named"): (
        "/proc/self/mountinfo and the command line of process 1 tell where the tree is kept"
    ),
    ("bubblewrap", "all_files_together_stay_under_the_disk_limit"): "the limit is on each file",
    ("docker", "all_files_together_stay_under_the_disk_limit"): (
        "the limit is on each file; overlay2 has quotas only on xfs mounted with pquota"
    ),
}

# Beside these, where a worker may make no control groups (an ordinary user without a delegated one).
WITHOUT_CONTROL_GROUPS = {
    (
        "bubblewrap",
        check,
    ): "the limit is then on each process's address space, and reaching it is its own error"
    for check in (
        "the_memory_limit_is_an_error_of_its_own",
        "a_child_that_ran_out_of_memory_is_noticed_too",
        "another_command_can_run_after_the_memory_limit",
    )
}
