"""What must not be, one module for each subject: functions of facts that give what they have found."""
