(** Sums over lists of people or scores, and division that rounds up. *)

From Coq Require Import ZArith Lia List Permutation.
Import ListNotations.
Open Scope Z_scope.

Definition sum {A} (f : A -> Z) (xs : list A) := fold_right (fun x n => f x + n) 0 xs.

Section Sums.
Context {A : Type}.
Implicit Types (f g : A -> Z) (xs ys : list A).

Lemma sum_app f xs ys : sum f (xs ++ ys) = sum f xs + sum f ys.
Proof. induction xs; simpl; lia. Qed.

Lemma sum_permutation f xs ys : Permutation xs ys -> sum f xs = sum f ys.
Proof. induction 1; simpl; lia. Qed.

Lemma sum_repeat f x n : sum f (repeat x n) = Z.of_nat n * f x.
Proof. induction n; simpl repeat; [reflexivity|]. unfold sum in *; simpl fold_right; lia. Qed.

Lemma sum_map {B} (h : B -> A) f (xs : list B) : sum f (map h xs) = sum (fun x => f (h x)) xs.
Proof. induction xs; simpl; congruence. Qed.

Lemma sum_plus f g xs : sum (fun x => f x + g x) xs = sum f xs + sum g xs.
Proof. induction xs; simpl; lia. Qed.

Lemma sum_same f g xs : Forall (fun x => f x = g x) xs -> sum f xs = sum g xs.
Proof. induction 1; simpl; congruence. Qed.

Lemma sum_opposite f xs : sum (fun x => - f x) xs = - sum f xs.
Proof. induction xs; simpl; lia. Qed.
End Sums.

(** As the code writes it: -(-x // g). *)
Definition ceiling x g := - (- x / g).

Lemma ceiling_least x g n : 0 < g -> (ceiling x g <= n <-> x <= n * g).
Proof.
  intros P; unfold ceiling. pose proof (Z.div_mod (- x) g ltac:(lia)). pose proof (Z.mod_pos_bound (- x) g P). split; nia.
Qed.

Lemma ceiling_enough x g : 0 < g -> x <= ceiling x g * g.
Proof. intros P; apply ceiling_least; [assumption | lia]. Qed.

Lemma ceiling_positive x g : 0 < g -> 0 <= x -> 0 <= ceiling x g.
Proof. intros P X; pose proof (ceiling_enough x g P); nia. Qed.
