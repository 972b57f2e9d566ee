(** What the main theorems rest on: the axioms of Coq's real numbers, or nothing where integers suffice. *)

From Duotone Require Import Step Graph Morphism Optimum Table LineCertificate GraphCertificate VerifiedCheck.

Print Assumptions private_iff_step.
Print Assumptions theorem_1.
Print Assumptions theorem_2.
Print Assumptions bound_is_minimum.
Print Assumptions allowed_sound.
Print Assumptions check_sound.
