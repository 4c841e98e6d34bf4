"""What is shown: diagrams and pages drawn from the tables and results of the layers below."""
